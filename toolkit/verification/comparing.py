"""List the differences between a stored notebook and the notebook as it should be stored."""

from __future__ import annotations

import copy
import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolkit.verification.diff import diff_lines, hint_at, is_image
from toolkit.verification.normalize import LABEL, as_bytes, as_mapping, comparable_outputs, without_times
from toolkit.verification.notebook_files import StoredNotebook
from toolkit.verification.run_notebook import cell_place
from toolkit.verification.verdict import CellPlace, Difference, Kind

_MOST_LAYOUT: Final = 20  # lines
_MISSING: Final = object()
# What editors add to the notebook's language; we store its name only.
_EDITOR_KEYS_OF_LANGUAGE: Final = frozenset(
    {"codemirror_mode", "file_extension", "mimetype", "nbconvert_exporter", "pygments_lexer", "version"}
)
_WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"


def differences(stored: StoredNotebook, data: bytes, expected: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return the differences between a stored notebook and the expected one in the order of the file.

    `data` is the expected notebook as bytes.
    """
    if stored.data == data:
        return ()
    before, after = (_comparable(content, expected) for content in (stored.content, expected))
    result = [*_of_cells(before["cells"], after["cells"]), *_of_notebook(before, after)]
    if not result:  # LAYOUT is also true and 1, which are equal in Python
        is_editors = as_bytes(before) == as_bytes(after) and as_bytes(stored.content) != data
        result.append(_layout_difference(stored.data, data, Kind.EDITOR if is_editors else Kind.LAYOUT))
    return tuple(result)


def _comparable(notebook: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a notebook without what differs between the programs that run and save notebooks."""
    content = copy.deepcopy(dict(notebook))
    metadata, new = content["metadata"], expected["metadata"]
    has_editors_widgets = _come_from_an_editor(metadata, new)
    for name in ("kernelspec", "language_info", LABEL):  # a notebook that was never updated may not have them
        metadata.setdefault(name, new[name])
    if _is_chosen_kernel(metadata):
        metadata["kernelspec"] = new["kernelspec"]
    if isinstance(metadata["language_info"], Mapping):
        language = metadata["language_info"].items()
        metadata["language_info"] = {name: value for name, value in language if name not in _EDITOR_KEYS_OF_LANGUAGE}
    if has_editors_widgets and "widgets" in new:
        metadata["widgets"] = new["widgets"]
    for cell, after in zip(content["cells"], expected["cells"], strict=True):
        cell["metadata"] = without_times(cell["metadata"])
        if "outputs" in cell:
            cell["outputs"] = comparable_outputs(cell["outputs"])
        for old, shown in zip(cell.get("outputs", ()), after.get("outputs", ()), strict=False):
            if has_editors_widgets and _WIDGET_VIEW in old.get("data", {}) and _WIDGET_VIEW in shown.get("data", {}):
                old["data"][_WIDGET_VIEW] = shown["data"][_WIDGET_VIEW]
    return content


def _widget_results(metadata: Mapping[str, Any]) -> list[str]:
    """Return what the widgets of a run show, whatever their identifiers."""
    models = [
        as_mapping(as_mapping(model).get("state"))
        for state in as_mapping(metadata.get("widgets")).values()
        for model in as_mapping(as_mapping(state).get("state")).values()
    ]
    return [_json([name, model[name]]) for model in models for name in ("outputs", "value") if model.get(name)]


def _come_from_an_editor(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Return True if the stored widgets have the random identifiers of an editor's run, or are not stored."""
    if "widgets" not in stored:
        return True
    before, after = _models(stored), _models(expected)
    # An editor may keep the widgets of earlier runs as well, so only missing ones count.
    missing = Counter(_widget_results(expected)) - Counter(_widget_results(stored))
    return bool(before) and before.isdisjoint(after) and not missing


def _models(metadata: Mapping[str, Any]) -> set[str]:
    states = (as_mapping(as_mapping(state).get("state")) for state in as_mapping(metadata.get("widgets")).values())
    return {name for models in states for name in models}


def _of_cells(stored: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]]) -> Iterator[Difference]:
    for number, (before, after) in enumerate(zip(stored, expected, strict=True)):
        place = cell_place(list(stored), number)
        if before["cell_type"] == "code":
            if before["execution_count"] != after["execution_count"]:
                diff = (f"-{before['execution_count']}", f"+{after['execution_count']}")
                yield Difference("execution count", Kind.METADATA, place, diff)
            yield from _of_outputs(place, before["outputs"], after["outputs"])
        for name in sorted({*before, *after} - {"outputs", "execution_count"}):
            yield from _of_metadata(name, before.get(name, _MISSING), after.get(name, _MISSING), place)


def _of_outputs(place: CellPlace, stored: Sequence[Any], expected: Sequence[Any]) -> Iterator[Difference]:
    for number in range(max(len(stored), len(expected))):
        name = f"output {number + 1}"
        before = stored[number] if number < len(stored) else None
        after = expected[number] if number < len(expected) else None
        if before is None or after is None or _type_of(before) != _type_of(after):
            diff = tuple(line for sign, out in (("-", before), ("+", after)) if out for line in _summary(sign, out))
            change = "is new" if before is None else "is gone" if after is None else "has another type"
            yield Difference(f"{name} {change}", Kind.DATA, place, diff)
            continue
        yield from _of_one_output(place, name, before, after)


def _of_one_output(
    place: CellPlace, name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    old_data, new_data = before.get("data", {}), after.get("data", {})
    changed = [form for form in sorted({*old_data, *new_data}) if old_data.get(form) != new_data.get(form)]
    is_table = {"text/html", "text/plain"} <= {*changed}  # the text shows what the page shows
    for form in changed:
        shown = "text/plain and text/html" if is_table and form == "text/plain" else form
        if not (is_table and form == "text/html"):
            yield _difference(f"{name}, {shown}", place, old_data.get(form), new_data.get(form), form)
    if "text" in before and before["text"] != after["text"]:
        yield _difference(f"{name}, {before['name']}", place, before["text"], after["text"], "text/plain")
    for key in sorted({*before, *after} - {"data", "text"}):
        if before.get(key, _MISSING) != after.get(key, _MISSING):
            kind = Kind.METADATA if key in {"metadata", "execution_count"} else Kind.DATA
            old, new = (
                "\n".join(part) if isinstance(part, list) else part for part in (before.get(key), after.get(key))
            )
            yield Difference(f"{name}, {key}", kind, place, diff_lines(old, new, "text/plain"), hint_at(old, new))


def _difference(name: str, place: CellPlace, before: Any, after: Any, mime_type: str) -> Difference:
    lines = diff_lines(before, after, mime_type)
    return Difference(name, Kind.IMAGE if is_image(mime_type) else Kind.DATA, place, lines, hint_at(before, after))


def _of_notebook(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[Difference]:
    sources = _part(stored, "sources"), _part(expected, "sources")
    cells = expected["cells"]
    if isinstance(sources[0], Mapping):
        identifiers = [cell.get("id", f"cell-{number}") for number, cell in enumerate(cells, start=1)]
        for number, identifier in enumerate(identifiers):
            if sources[0].get(identifier) != sources[1][identifier]:
                yield Difference(
                    "source",
                    Kind.SOURCE,
                    cell_place(list(cells), number),
                    hint="The cell changed after the outputs were stored, or is new.",
                )
        for identifier in sorted(set(map(str, sources[0])) - set(identifiers)):
            yield Difference(f"source of a removed cell {identifier}", Kind.SOURCE)
    for name in sorted({*stored, *expected} - {"cells", "metadata"}):
        yield from _of_metadata(name, stored.get(name, _MISSING), expected.get(name, _MISSING))
    before, after = stored["metadata"], expected["metadata"]
    for name in sorted({*before, *after}):
        old, new = before.get(name, _MISSING), after.get(name, _MISSING)
        if name == LABEL and isinstance(sources[0], Mapping) and isinstance(old, Mapping):
            old, new = ({key: item for key, item in value.items() if key != "sources"} for value in (old, new))
        yield from _of_metadata(f"metadata/{name}", old, new)


def _is_chosen_kernel(metadata: Mapping[str, Any]) -> bool:
    """Return True if the notebook names a kernel as JupyterLab does, which writes the one that the user has chosen."""
    return as_mapping(metadata.get("kernelspec")).keys() >= {"name", "display_name"}


def _part(notebook: Mapping[str, Any], name: str) -> Any:
    entry = notebook["metadata"].get(LABEL)
    return entry.get(name) if isinstance(entry, Mapping) else None


def _of_metadata(path: str, before: Any, after: Any, cell: CellPlace | None = None) -> Iterator[Difference]:
    """Yield the differences in a tree of metadata; the place is the path in the tree."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _of_metadata(f"{path}/{name}", before.get(name, _MISSING), after.get(name, _MISSING), cell)
        return
    lines = (f"{sign}{_json(value)}" for sign, value in (("-", before), ("+", after)) if value is not _MISSING)
    yield Difference(path, Kind.METADATA, cell, tuple(lines))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _type_of(output: Mapping[str, Any]) -> tuple[object, object]:
    return output["output_type"], output.get("name")


def _summary(sign: str, output: Mapping[str, Any]) -> Iterator[str]:
    text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
    shown = text if isinstance(text, str) else _json(text)
    label = output.get("name") or ", ".join(sorted(output.get("data", {}))) or output.get("ename") or ""
    yield f"{sign}[{output['output_type']}: {label}]"
    for line in shown.splitlines():
        yield f"{sign}{line}"


def _layout_difference(stored: bytes, data: bytes, kind: Kind) -> Difference:
    before, after = (content.decode(errors="replace").split("\n") for content in (stored, data))
    lines = [
        line
        for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = tuple(lines[:_MOST_LAYOUT])
    if kind is Kind.EDITOR:
        return Difference("what other programs save", kind, diff=shown)
    hint = "The content is the same: indentation, order, escapes or line ends differ."
    return Difference("layout of the JSON", kind, diff=shown, hint=hint)
