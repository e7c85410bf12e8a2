// Status and facts of a session. What depends on the present is computed here, so that it is not saved.
const UNITS = [
  ["year", 31557600],
  ["month", 2629800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const PATIENCE = 4000; // milliseconds to wait for the kernel to answer
const ABSENT = "The kernel does not answer, so this may be out of date. If it stays like this, reload the page.";
const GONE = "This panel belongs to an earlier kernel. Run its cell again to use it.";
// The class of widgets without a kernel, in JupyterLab, Notebook and exported pages.
const DISCONNECTED = "jupyter-widgets-disconnected";

const COLUMNS = ["when (UTC)", "interface", "path", "status", "elapsed", "token"];
const FIRST_ERROR = 400; // statuses from here on are errors, RFC 9110 section 15.5

// Children that are text stay text, whatever they hold.
const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
};
const code = (text) => make("code", {}, text);
const badge = (text, kind) => (text ? make("span", { class: `toolkit-badge toolkit-${kind}` }, text) : "");

const factRows = (facts) => {
  const before = facts.name ? `${facts.name}.` : "";
  const account = badge(facts.account, facts.account === "practice" ? "practice" : "real");
  const rows = [
    ["Session", make("span", { class: "toolkit-badges" }, make("strong", {}, facts.environment), badge(facts.mode, "mode"), account)],
    ["You are", facts.who],
  ];
  const interfaces = facts.interfaces.flatMap((name, at) => [at ? ", " : "", code(before + name)]);
  if (!facts.is_closed) rows.push(["You may call", interfaces]);
  const toUse = ["put the panel in a variable: after ", code("panel = tk.panel()"), ", use ", code("panel.session"), " in your cells"];
  if (!facts.name) rows.push(["To use it", toUse]);
  const [instant, date] = facts.recorded;
  const recorded = instant ? [", recorded ", make("time", { datetime: instant }, date), ` (${ageText(instant)})`] : [];
  if (facts.cassette) rows.push(["Cassette", [facts.cassette, ...recorded]]);
  rows.push(["Token", tokenPart(facts)]);
  return rows.flatMap(([title, value]) => [make("dt", {}, title), make("dd", {}, value)]);
};

const tokenPart = ({ token, percent, token_number }) => {
  if (token && percent === null) return token;
  const counting = token ? {} : { "data-counting": `token ${token_number}` };
  const range = { "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent ?? 0 };
  const name = { class: "toolkit-bar", role: "progressbar", "aria-label": "Remaining lifetime of the token" };
  const bar = make("span", { ...name, ...range }, make("span", {}));
  bar.firstElementChild.style.width = `${percent ?? 0}%`;
  return make("span", { class: "toolkit-token", ...counting }, bar, make("span", { class: "toolkit-left" }, token || "…"));
};

const callsPart = ({ name, count, calls, is_closed }) => {
  const before = name ? `${name}.` : "";
  if (!count) {
    const toCall = name && !is_closed ? ["; for one, run ", code(`${before}accounts()`)] : [];
    return make("div", { class: "toolkit-calls" }, make("div", {}, is_closed ? "No calls" : "No calls yet", toCall, "."));
  }
  const all = count > calls.length ? [`, the last ${calls.length} shown; all: `, code(`${before}calls()`)] : [];
  const words = make("div", {}, `${count.toLocaleString("en")} call${count === 1 ? "" : "s"}`, all);
  const head = make("tr", {}, COLUMNS.map((column) => make("th", { scope: "col" }, column)));
  const rows = calls.map((cells) => {
    const failed = Number(cells[3]) >= FIRST_ERROR ? { class: "toolkit-failed" } : {};
    return make("tr", failed, cells.map((cell) => make("td", {}, cell)));
  });
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, rows));
  const scroll = { class: "toolkit-scroll", role: "region", "aria-label": "Last calls", tabindex: "0" };
  return make("div", { class: "toolkit-calls" }, words, make("div", scroll, table));
};

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
  const views = new Set(); // for each view, the function that updates it
  let token = null; // {remaining, lifetime} in seconds, and the time `at` which it came
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
      if (status.textContent !== words) status.textContent = words; // setting it again would make screen readers repeat it
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
          ? "not kept: the kernel has ended"
          : left > 0
            ? `${place.dataset.counting} · ${clockText(left)} of ${clockText(token.lifetime)} left`
            : isAnswered
              ? "expired; the next call gets a new one"
              : "…";
      bar.hidden = isGone();
    };
    const showSummary = () => {
      const facts = model.get("facts");
      const isInside = summary.contains(document.activeElement);
      const list = () => make("dl", { class: "toolkit-facts" }, factRows(facts));
      summary.replaceChildren(...(facts.environment ? [list(), callsPart(facts)] : []));
      if (isInside) summary.querySelector("[tabindex]")?.focus();
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
    // Ask whether the kernel still answers when the user comes to the panel, not all the time.
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
        miss(); // the connection is closed
      }
    };

    model.on("change:status change:tone", showStatus);
    model.on("change:facts", showSummary);
    model.on("comm_live_update", () => setTimeout(update)); // after the panel around it got or lost the class
    views.add(update);
    showStatus();
    showSummary();
    greet();
    const second = setInterval(() => token && !document.hidden && showToken(), 1000);
    const enter = () => {
      const panel = el.closest(".toolkit-panel");
      if (!panel) return void (entering = setTimeout(enter, 50)); // a view is added to the page after it is rendered
      for (const name of ["pointerenter", "focusin"]) panel.addEventListener(name, greet, { signal });
      // Otherwise a letter typed at a dropdown is a command to the notebook: "b" adds a cell, "x" cuts one.
      panel.addEventListener("focusin", ({ target }) => (target.dataset.lmSuppressShortcuts = "true"), { signal });
      const button = panel.querySelector("button");
      // Leaving a field may remove words above the button and so move it. Capture the pointer, so the press still counts.
      button.addEventListener("pointerdown", ({ pointerId }) => button.setPointerCapture(pointerId), { signal });
      // A control that is disabled or hidden loses the keyboard focus. Give it back, or to the button, when that can be.
      let last = null; // the control that the user is at
      const note = ({ target }) => (last = panel.contains(target) ? target : null);
      for (const name of ["focusin", "pointerdown"]) document.addEventListener(name, note, { signal });
      const giveBack = () => {
        const present = document.activeElement; // one that is hidden keeps the focus until the page is drawn again
        if (!last || (present !== document.body && present.checkVisibility())) return;
        const isUsable = (control) => control.isConnected && control.checkVisibility() && !control.disabled;
        [last, button].find(isUsable)?.focus();
      };
      const watch = new MutationObserver(() => requestAnimationFrame(giveBack));
      watch.observe(panel, { subtree: true, childList: true, attributeFilter: ["class", "disabled"] });
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
