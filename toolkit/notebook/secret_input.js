// Fields for secrets. What is typed stays in this closure, one for each model, until the kernel asks.
const LONGEST_FILE = 65536; // bytes
const EMPTY_DELAY = 300; // milliseconds
let lastId = 0;

const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

export default () => {
  const texts = new Map(); // name of a field -> its text
  const views = new Set(); // functions that draw the fields of one view anew
  let answered = 0;
  let reading = Promise.resolve(); // done when no chosen file is being read any more

  const redraw = () => views.forEach((draw) => draw());

  const initialize = ({ model }) => {
    model.on("change:fields", () => {
      texts.clear();
      redraw();
    });
    model.on("msg:custom", (message) => {
      // The same question may come twice; by the second time the fields are empty.
      if (message.type !== "ask" || message.number === answered) return;
      answered = message.number;
      const isEmpty = !model.get("fields").some(({ name, masked }) => masked && texts.get(name));
      // The kernel takes the first answer: where the notebook is open twice, the page that was typed into goes first.
      setTimeout(() => reading.then(() => handOver(model)), isEmpty ? EMPTY_DELAY : 0);
    });
  };

  const handOver = (model) => {
    const encoder = new TextEncoder();
    const fields = model.get("fields");
    const buffers = fields.map(({ name }) => encoder.encode(texts.get(name) ?? ""));
    model.send({ type: "texts", number: answered }, undefined, buffers);
    for (const { name, masked } of fields) if (masked) texts.delete(name);
    redraw();
  };

  const inputRow = (model, field) => {
    const id = `toolkit-field-${++lastId}`;
    const input = make("input", {
      id,
      type: field.masked ? "password" : "text",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      "aria-describedby": `${id}-problem`,
    });
    input.value = texts.get(field.name) ?? "";
    input.addEventListener("input", () => texts.set(field.name, input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") model.send({ type: "submit" });
    });
    const problem = make("div", { id: `${id}-problem`, class: "toolkit-problem", role: "alert" });
    const controls = make("div", { class: "toolkit-controls" }, input);
    if (field.isKey) {
      input.placeholder = "paste it here, or choose its file";
      controls.append(fileRow(field, input, problem));
    }
    controls.append(problem);
    const row = make("div", { class: "toolkit-field" }, make("label", { for: id }, field.label), controls);
    const showProblem = () => {
      const words = model.get("problems")[field.name] ?? "";
      problem.textContent = words;
      input.setAttribute("aria-invalid", words ? "true" : "false");
    };
    return { row, showProblem };
  };

  const fileRow = (field, input, problem) => {
    const file = make("input", { type: "file", "aria-label": `${field.label} file` });
    file.addEventListener("change", () => {
      const chosen = file.files[0];
      if (!chosen) return;
      if (chosen.size > LONGEST_FILE) {
        file.value = "";
        problem.textContent = "This file is too large to be a private key.";
        return;
      }
      const keep = (text) => {
        texts.set(field.name, text);
        input.value = "";
      };
      const giveUp = () => {
        file.value = "";
        problem.textContent = "This file cannot be read.";
      };
      reading = chosen.text().then(keep, giveUp);
    });
    input.addEventListener("input", () => (file.value = ""));
    return file;
  };

  const render = ({ model, el }) => {
    el.classList.add("toolkit-fields");
    let rows = [];
    const showProblems = () => rows.forEach((row) => row.showProblem());
    const draw = () => {
      rows = model.get("fields").map((field) => inputRow(model, field));
      el.replaceChildren(...rows.map(({ row }) => row));
      showProblems();
    };
    views.add(draw);
    model.on("change:problems", showProblems);
    draw();
    return () => views.delete(draw);
  };

  return { initialize, render };
};
