// Fields for secrets. What is typed stays in this closure (one per model) until the kernel asks for it.
const LONGEST_FILE = 65536; // bytes
const EMPTY_DELAY = 300; // milliseconds
// Each panel loads this module anew, so a count alone would give the fields of two panels the same ids, and a click on
// a label would focus the field of the other panel. `crypto.randomUUID` is missing on pages without TLS.
const ID_PREFIX = `toolkit-field-${[...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-")}`;
let lastId = 0;

const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// A field of the same name may be another one: a key ID is a secret of a key pair, and an option of a client key.
const isSame = (field, other) => JSON.stringify(field) === JSON.stringify(other);

export default () => {
  const texts = new Map(); // keyed by field name
  const views = new Set(); // for each view, the function that redraws its fields
  let answered = 0; // number of the last question that was answered
  let forgotten = 0; // grows when texts are forgotten, so that a file chosen earlier is not kept later
  let reading = Promise.resolve(); // settles when the chosen file has been read

  const redraw = () => views.forEach((draw) => draw());

  const initialize = ({ model }) => {
    let before = model.get("fields");
    model.on("change:fields", () => {
      const fields = model.get("fields");
      const isKept = (name) => fields.some((field) => field.name === name && before.some((old) => isSame(old, field)));
      const gone = [...texts.keys()].filter((name) => !isKept(name));
      before = fields;
      forget(gone);
    });
    model.on("msg:custom", (message) => {
      if (message.type === "forget") forget(message.names);
      // The same question may come twice, and the second time the fields may be empty already.
      if (message.type !== "ask" || message.number === answered) return;
      answered = message.number;
      const isEmpty = !model.get("fields").some(({ name, masked }) => masked && texts.get(name));
      // The kernel takes the first answer. If the notebook is open in two pages, the one with text answers first.
      setTimeout(() => reading.then(() => sendTexts(model)), isEmpty ? EMPTY_DELAY : 0);
    });
  };

  const sendTexts = (model) => {
    const encoder = new TextEncoder();
    const buffers = model.get("fields").map(({ name }) => encoder.encode(texts.get(name) ?? ""));
    model.send({ type: "texts", number: answered }, undefined, buffers);
  };

  const forget = (names) => {
    names.forEach((name) => texts.delete(name));
    if (names.length) forgotten += 1;
    redraw();
  };

  const inputRow = (model, field) => {
    const id = `${ID_PREFIX}-${++lastId}`;
    const input = field.choices.length ? selectInput(id, field) : textInput(id, field);
    input.addEventListener("input", () => texts.set(field.name, input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) model.send({ type: "submit" });
      if (event.key === "Escape") forget([field.name]);
    });
    const problem = make("div", { id: `${id}-problem`, class: "toolkit-problem", role: "alert" });
    const controls = make("div", { class: "toolkit-controls" }, input);
    const file = field.is_key ? fileInput(field, input, problem) : null;
    if (file) {
      input.placeholder = "paste it here, or choose its file";
      controls.append(file);
    }
    if (field.hint) controls.append(make("div", { id: `${id}-hint`, class: "toolkit-hint" }, field.hint));
    controls.append(problem);
    const row = make("div", { class: "toolkit-field" }, make("label", { for: id }, field.label), controls);
    const showText = () => {
      const text = texts.get(field.name) ?? "";
      if (file && !text) file.value = "";
      if (!file?.value) input.value = text;
    };
    const showProblem = () => {
      const words = model.get("problems")[field.name] ?? "";
      problem.textContent = words;
      input.setAttribute("aria-invalid", words ? "true" : "false");
      return words ? input : null;
    };
    return { field, row, showText, showProblem };
  };

  const textInput = (id, field) =>
    make("input", {
      id,
      type: field.masked ? "password" : "text",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      "aria-describedby": field.hint ? `${id}-hint ${id}-problem` : `${id}-problem`,
    });

  const selectInput = (id, field) => {
    const options = field.choices.map(([value, label]) => make("option", { value }, label));
    return make("select", { id, "aria-describedby": `${id}-problem` }, ...options);
  };

  const fileInput = (field, input, problem) => {
    const file = make("input", { type: "file", "aria-label": `${field.label} file` });
    let choices = 0; // counts files and typing: a file that is read slowly must not replace a later choice
    file.addEventListener("change", () => {
      const choice = ++choices;
      const before = forgotten;
      const chosen = file.files[0];
      texts.delete(field.name); // of the previous file
      input.value = "";
      problem.textContent = "";
      if (!chosen) return;
      const refuse = (words) => {
        if (choice !== choices) return;
        file.value = "";
        problem.textContent = words;
      };
      if (chosen.size > LONGEST_FILE) return refuse("This file is too large to be a private key.");
      const keep = (text) => choice === choices && before === forgotten && texts.set(field.name, text);
      reading = chosen.text().then(keep, () => refuse("This file cannot be read."));
    });
    input.addEventListener("input", () => {
      choices += 1;
      file.value = "";
    });
    return file;
  };

  const render = ({ model, el }) => {
    el.classList.add("toolkit-fields");
    let rows = [];
    const options = make("details", { class: "toolkit-options" });
    const showProblems = () => {
      const [first] = rows.map((row) => row.showProblem()).filter(Boolean);
      if (options.contains(first ?? null)) options.open = true;
      // A press on Connect leads to the field, unless the user went on elsewhere: the pressed button is disabled for a while.
      const focused = document.activeElement;
      const isPressed = focused?.matches("button") && el.closest(".toolkit-panel")?.contains(focused);
      if (first && (focused === document.body || isPressed)) first.focus();
    };
    const draw = () => {
      const fields = model.get("fields");
      const isDrawn = fields.length === rows.length && fields.every((field, at) => isSame(rows[at].field, field));
      if (!isDrawn) {
        // Keep existing rows: a chosen file cannot be moved to another input.
        rows = fields.map((field) => rows.find((row) => isSame(row.field, field)) ?? inputRow(model, field));
        const rowsOf = (isOption) => rows.filter(({ field }) => field.is_option === isOption).map(({ row }) => row);
        options.replaceChildren(make("summary", {}, "More options"), ...rowsOf(true));
        el.replaceChildren(...rowsOf(false), ...(rowsOf(true).length ? [options] : []));
        showProblems();
      }
      rows.forEach((row) => row.showText());
    };
    views.add(draw);
    model.on("change:problems", showProblems);
    draw();
    return () => views.delete(draw);
  };

  return { initialize, render };
};
