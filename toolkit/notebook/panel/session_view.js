// Status and summary of a session. What depends on the present is worked out here, not in the kernel.
const UNITS = [
  ["year", 31557600],
  ["month", 2629800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const PATIENCE = 4000; // milliseconds until a kernel that does not answer is said to be absent
const ABSENT = "The kernel is busy, or gone: this shows the panel as it last was. If it stays so, reload the page.";
const GONE = "From an earlier run of the kernel. To use the panel, run its cell again.";
// What the widgets of JupyterLab, Notebook and exported pages carry when no kernel holds them any more.
const DISCONNECTED = "jupyter-widgets-disconnected";

const clockText = (seconds) => {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
};

const ageText = (instant) => {
  const seconds = (Date.now() - Date.parse(instant)) / 1000;
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? [];
  return unit ? new Intl.RelativeTimeFormat("en").format(-Math.floor(seconds / length), unit) : "just now";
};

export default () => {
  const views = new Set(); // functions that bring the token of one view up to date
  let token = null; // {remaining, lifetime} in seconds, and when that was
  let isAnswered = false;

  const initialize = ({ model }) => {
    model.on("msg:custom", (message) => {
      if (message.type !== "token") return;
      isAnswered = true;
      token = message.remaining === null ? null : { ...message, at: Date.now() };
      views.forEach((update) => update());
    });
  };

  const render = ({ model, el, signal }) => {
    el.classList.add("toolkit-session");
    const status = document.createElement("div");
    status.className = "toolkit-status";
    status.setAttribute("role", "status");
    const summary = document.createElement("div");
    const absent = document.createElement("div");
    absent.className = "toolkit-absent";
    absent.setAttribute("role", "status");
    absent.textContent = ABSENT;
    absent.hidden = true;
    el.replaceChildren(status, summary, absent);

    const isGone = () => el.closest(`.${DISCONNECTED}`) !== null;
    const showStatus = () => {
      const words = isGone() ? GONE : model.get("status");
      if (status.textContent !== words) status.textContent = words; // said again, it would be read out again
      status.dataset.tone = isGone() ? "gone" : model.get("tone");
    };
    const showToken = () => {
      const place = summary.querySelector("[data-counting]");
      if (!place) return;
      const left = token ? token.remaining - (Date.now() - token.at) / 1000 : 0;
      const percent = token ? Math.max(0, Math.round((100 * left) / token.lifetime)) : 0;
      const bar = place.querySelector("[role=progressbar]");
      bar.setAttribute("aria-valuenow", percent);
      bar.firstElementChild.style.width = `${percent}%`;
      place.querySelector(".toolkit-left").textContent =
        isGone()
          ? "its lifetime is known while the kernel runs"
          : left > 0
            ? `${clockText(left)} of ${clockText(token.lifetime)} left`
            : isAnswered
              ? "expired; the next call gets a new one"
              : "…";
      bar.hidden = isGone();
    };
    const showSummary = () => {
      summary.innerHTML = model.get("html"); // escaped where it is made
      for (const time of summary.querySelectorAll("time")) time.after(` (${ageText(time.dateTime)})`);
      showToken();
    };
    const update = () => {
      clearTimeout(patience);
      absent.hidden = true;
      showStatus();
      showToken();
    };

    let patience = 0;
    let asked = 0;
    let later = 0;
    const miss = () => {
      absent.hidden = isGone();
      status.dataset.tone = "gone";
    };
    // Whether the kernel is still there is found out when somebody looks, and not by asking all the time.
    const greet = () => {
      if (isGone()) return;
      const wait = asked + PATIENCE - Date.now();
      clearTimeout(later);
      if (wait > 0) return void (later = setTimeout(greet, wait));
      asked = Date.now();
      clearTimeout(patience);
      patience = setTimeout(miss, PATIENCE);
      try {
        model.send({ type: "hello" });
      } catch {
        miss(); // its connection is closed
      }
    };

    model.on("change:status change:tone", showStatus);
    model.on("change:html", showSummary);
    model.on("comm_live_update", () => setTimeout(update)); // once the panel around it carries the class, or does not
    views.add(update);
    showStatus();
    showSummary();
    greet();
    const second = setInterval(() => token && !document.hidden && showToken(), 1000);
    const enter = () => {
      const panel = el.closest(".toolkit-panel");
      if (!panel) return void (entering = setTimeout(enter, 50)); // a view is in its page some time after it was drawn
      for (const name of ["pointerenter", "focusin"]) panel.addEventListener(name, greet, { signal });
      // Else a letter typed at a list of choices is a command to the notebook: "b" adds a cell, "x" cuts one.
      panel.addEventListener("focusin", ({ target }) => (target.dataset.lmSuppressShortcuts = "true"), { signal });
      const button = panel.querySelector("button");
      // Words above it may go when a field is left, and the button with them: the press that left the field still counts.
      button.addEventListener("pointerdown", ({ pointerId }) => button.setPointerCapture(pointerId), { signal });
      // The button loses the keyboard's focus while it is disabled, that is, while it works; then it gets it back.
      let isLost = false;
      button.addEventListener("blur", ({ relatedTarget }) => (isLost = button.disabled && !relatedTarget), { signal });
      const giveBack = () => !button.disabled && isLost && document.activeElement === document.body && button.focus();
      const watch = new MutationObserver(giveBack);
      watch.observe(button, { attributeFilter: ["disabled"] });
      signal.addEventListener("abort", () => watch.disconnect());
    };
    let entering = setTimeout(enter);
    return () => {
      views.delete(update);
      clearInterval(second);
      clearTimeout(patience);
      clearTimeout(entering);
      clearTimeout(later);
    };
  };

  return { initialize, render };
};
