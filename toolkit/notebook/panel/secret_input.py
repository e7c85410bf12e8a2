"""Fields for secrets whose text stays in the page until it is asked for, and never is in a trait.

A trait is saved with the notebook, even one that was typed into and not submitted. Here what is typed
lives in the page. Asked for it, the page hands it over as the binary part of a message, which neither
notebook nor widget state nor a kernel's debug log keeps. The fields are emptied when they are told to
forget: all of them once the texts were accepted, the one that was refused when they were not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from toolkit.core.secret import Secret
from toolkit.notebook.panel.choices import Field

_HERE: Final = Path(__file__)
LONGEST_TEXT: Final = 65_536  # bytes; no key comes near it


class SecretInput(anywidget.AnyWidget):
    """Masked fields of one form.

    Args:
        answered: called when what was asked for has come; `take()` then gives it.
        submitted: called when Enter was pressed in a field.
        traits: those of any widget, such as `layout`.

    Attributes:
        fields: what is asked for; what was typed into those that are no more is forgotten.
        problems: words to show beside fields, by their names.
    """

    _esm = _HERE.with_suffix(".js").read_text(encoding="utf-8")
    _css = _HERE.with_suffix(".css").read_text(encoding="utf-8")
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
        """Offer these fields, without problems; one that was there keeps its text, the same ones all."""
        wanted = [
            {"name": field.name, "label": field.label, "masked": field.masked, "isKey": field.is_key}
            for field in fields
        ]
        if wanted != self.fields:
            self._is_waiting = False
            self._texts.clear()
            self.problems = {}
            self.fields = wanted

    def ask(self) -> None:
        """Ask the page for what was typed. Asking again before it answered is the same question."""
        if not self._is_waiting:
            self._asked += 1
            self._is_waiting = True
        self.send({"type": "ask", "number": self._asked})

    def take(self) -> dict[str, Secret]:
        """What the page handed over, by field; once. Empty if the front end passes on no binary messages."""
        texts, self._texts = self._texts, {}
        return texts

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Empty these fields in the page; None empties all, and drops what was asked for."""
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


def _texts(names: Sequence[str], buffers: Any) -> dict[str, Secret]:
    """The texts of an answer, by field; one that is missing or too long to be meant is empty. Without any, no texts."""
    given = [bytes(buffer) if memoryview(buffer).nbytes <= LONGEST_TEXT else b"" for buffer in buffers or ()]
    if not given:
        return {}
    given += [b""] * (len(names) - len(given))
    return {name: Secret(data.decode("utf-8", "replace")) for name, data in zip(names, given, strict=False)}
