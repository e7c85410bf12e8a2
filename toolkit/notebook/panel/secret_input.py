"""Fields for secrets. Their text stays in the page until the kernel asks for it, and is never in a trait.

A trait is saved with the notebook, even if its text was typed but not submitted. Here the text lives in the page. When
the kernel asks, the page sends it as the binary part of a message, which neither the notebook nor the widget state nor
a kernel's debug log keeps. Afterwards the kernel tells the page which fields to empty: all of them once the texts were
accepted, the refused secret if they were not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from toolkit.core.secret import Secret
from toolkit.notebook.panel.fields import Field

LONGEST_TEXT: Final = 65_536  # bytes; far more than any key has


class SecretInput(anywidget.AnyWidget):
    """The fields of one form.

    Args:
        answered: called when the page has sent the texts; `take()` then returns them.
        submitted: called when Enter was pressed in a field.
        traits: traits of any widget, such as `layout`.

    Attributes:
        fields: the fields to show; the page forgets the texts of fields that are no longer there.
        problems: words to show beside fields, by the names of the fields.
    """

    _esm = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    _css = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    fields = traitlets.List(traitlets.Dict()).tag(sync=True)
    problems = traitlets.Dict().tag(sync=True)

    def __init__(self, *, answered: Callable[[], None], submitted: Callable[[], None], **traits: Any) -> None:
        self._answered = answered
        self._submitted = submitted
        self._texts: dict[str, Secret] = {}
        self._asked = 0
        self._is_waiting = False
        super().__init__(**traits)
        self.on_msg(self._receive)

    def show(self, fields: Sequence[Field]) -> None:
        """Show these fields, without problems; a field that was there before keeps its text."""
        shown = as_shown(fields)
        if shown != self.fields:
            self._is_waiting = False
            self._texts.clear()
            self.problems = {}
            self.fields = shown

    def ask(self) -> None:
        """Ask the page for the texts. Asking again before it answers repeats the same question."""
        if not self._is_waiting:
            self._asked += 1
            self._is_waiting = True
        self.send({"type": "ask", "number": self._asked})

    def take(self) -> dict[str, Secret]:
        """Return the texts that the page sent, by field, and forget them; empty if the front end drops buffers."""
        texts, self._texts = self._texts, {}
        return texts

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Empty these fields in the page; None empties all fields and drops an answer that is still to come."""
        if names is None:
            self._is_waiting = False
            self._texts.clear()
            names = [field["name"] for field in self.fields]
        self.send({"type": "forget", "names": [*names]})

    def __repr__(self) -> str:
        return f"<SecretInput {', '.join(field['label'] for field in self.fields)}>"

    def _receive(self, _: object, content: object, buffers: object) -> None:
        if not isinstance(content, Mapping):
            return
        if content.get("type") == "submit":
            self._submitted()
        elif content.get("type") == "texts" and self._is_waiting and content.get("number") == self._asked:
            self._is_waiting = False
            self._texts = _texts([field["name"] for field in self.fields], buffers)
            self._answered()


def as_shown(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """Return fields as the page shows them."""
    return [
        {
            "name": field.name,
            "label": field.label,
            "masked": field.masked,
            "isKey": field.is_key,
            "isOption": field.is_option,
            "hint": field.hint,
            "choices": [[*choice] for choice in field.choices],
        }
        for field in fields
    ]


def _texts(names: Sequence[str], buffers: Any) -> dict[str, Secret]:
    """Return the texts of an answer, by field; the text is empty if its buffer is missing or far too long for a key."""
    texts = [bytes(buffer) if memoryview(buffer).nbytes <= LONGEST_TEXT else b"" for buffer in buffers or ()]
    if not texts:
        return {}
    texts += [b""] * (len(names) - len(texts))
    return {name: Secret(data.decode("utf-8", "replace")) for name, data in zip(names, texts, strict=False)}
