// Status and summary of a session. What depends on the present is worked out here, not in the kernel.
const UNITS = [
  ["year", 31557600],
  ["month", 2629800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const PATIENCE = 4000; // milliseconds until a kernel that does not answer is said to be absent

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

  const render = ({ model, el }) => {
    el.classList.add("toolkit-session");
    const status = document.createElement("div");
    status.className = "toolkit-status";
    status.setAttribute("role", "status");
    const summary = document.createElement("div");
    const absent = document.createElement("div");
    absent.className = "toolkit-absent";
    absent.textContent = "The kernel is busy, or gone: this shows the panel as it last was.";
    absent.hidden = true;
    el.replaceChildren(status, summary, absent);

    const showStatus = () => {
      status.textContent = model.get("status");
      status.dataset.tone = model.get("tone");
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
        left > 0
          ? `${clockText(left)} of ${clockText(token.lifetime)} left`
          : isAnswered
            ? "expired; the next call gets a new one"
            : "…";
    };
    const showSummary = () => {
      summary.innerHTML = model.get("html"); // escaped where it is made
      for (const time of summary.querySelectorAll("time")) time.after(` (${ageText(time.dateTime)})`);
      showToken();
    };
    const update = () => {
      absent.hidden = true;
      showToken();
    };

    model.on("change:status change:tone", showStatus);
    model.on("change:html", showSummary);
    views.add(update);
    showStatus();
    showSummary();
    const second = setInterval(() => token && !document.hidden && showToken(), 1000);
    const patience = setTimeout(() => (absent.hidden = isAnswered), PATIENCE);
    model.send({ type: "hello" });
    return () => {
      views.delete(update);
      clearInterval(second);
      clearTimeout(patience);
    };
  };

  return { initialize, render };
};
