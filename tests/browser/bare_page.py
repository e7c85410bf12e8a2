"""A widget of the panel alone in a page, with a model that the test controls in place of a kernel."""

from __future__ import annotations

_PANEL = """<div class="toolkit-panel">
  <label>Mode <select><option>call</option></select></label>
  <div id="view"></div>
  <div class="words">Words that may go</div>
  <button>Connect</button>
</div>
<button>Elsewhere</button>"""
_START = """async ([source, values, place]) => {
  const handlers = {}, sent = [];
  const model = {
    get: (name) => values[name],
    on: (names, handler) => names.split(" ").forEach((name) => (handlers[name] ??= []).push(handler)),
    send: (content, _, buffers = []) => {
      if (window.isClosed) throw new Error("closed");
      sent.push([content, buffers.map((buffer) => new TextDecoder().decode(buffer))]);
    },
  };
  const emit = (name, ...given) => (handlers[name] ?? []).forEach((handler) => handler(...given));
  const change = (changes) => {
    Object.assign(values, changes);
    Object.keys(changes).forEach((name) => emit(`change:${name}`));
  };
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const widget = (await import(url)).default();
  widget.initialize({ model });
  widget.render({ model, el: document.getElementById(place), signal: new AbortController().signal });
  window.widget = { emit, change, sent };
}"""


class BareWidget:
    """A widget in an empty page.

    Args:
        page: the playwright page.
        kind: the class of the widget, for its module.
        values: the traits of its model.
    """

    def __init__(self, page, kind, **values):
        self.page = page
        page.set_content(_PANEL)
        page.evaluate(_START, [kind._esm, values, "view"])

    def add_another(self, kind, **values):
        """Show a second widget in the page, whose module is loaded anew, as anywidget does for each widget."""
        self.page.evaluate("() => document.body.insertAdjacentHTML('beforeend', '<div id=\"another\"></div>')")
        self.page.evaluate(_START, [kind._esm, values, "another"])

    @property
    def sent(self):
        """The messages that the page sent, each with the texts of its binary part."""
        return self.page.evaluate("() => widget.sent")

    def change(self, **values):
        """Change traits, as the kernel does."""
        self.page.evaluate("(values) => widget.change(values)", values)

    def receive(self, **message):
        """Receive a message of the kernel."""
        self.page.evaluate("(message) => widget.emit('msg:custom', message)", message)
