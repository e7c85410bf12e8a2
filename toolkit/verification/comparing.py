"""What differs between a notebook as it is stored and as it should be."""

from __future__ import annotations

import copy
import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolkit.verification.diff import diff_lines, hint_at, kind_of
from toolkit.verification.normalize import LABEL, as_bytes, without_times
from toolkit.verification.notebook_files import StoredNotebook
from toolkit.verification.run_notebook import cell_place
from toolkit.verification.verdict import CellPlace, Difference, Kind

_MOST_LAYOUT: Final = 20  # lines
_MISSING: Final = object()
# What JupyterLab and others write beside the results when somebody saves; what is stored anew has none of it.
_OF_CELLS: Final = frozenset({"execution", "ExecuteTime", "trusted"})
_OF_LANGUAGE: Final = frozenset(
    {"codemirror_mode", "file_extension", "mimetype", "nbconvert_exporter", "pygments_lexer", "version"}
)
_VIEW: Final = "application/vnd.jupyter.widget-view+json"


def differences(stored: StoredNotebook, data: bytes, expected: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What is stored otherwise than it should be, in the order of the file; none when the bytes are the same.

    Args:
        data: the bytes as they should be.
        expected: their content.
    """
    if stored.data == data:
        return ()
    others_widgets = _are_of_another_run(stored.content["metadata"], expected["metadata"])
    found = [*_of_cells(stored.cells, expected["cells"]), *_of_notebook(stored.content, expected)]
    if others_widgets:
        found = [_editors(one) if _is_about_widgets(one) else one for one in found]
    is_editors = all(one.kind is Kind.EDITOR for one in found)
    if not found or (is_editors and _without_editors(stored, expected, others_widgets=others_widgets) != data):
        found.append(_of_layout(stored.data, data))  # such as true that is 1 now, which are equal here
    return tuple(found)


def _without_editors(stored: StoredNotebook, expected: Mapping[str, Any], *, others_widgets: bool) -> bytes:
    """What is stored, as it would be written without what an editor keeps."""
    content = copy.deepcopy(stored.content)
    if not content["metadata"].get("language_info", {}).keys().isdisjoint(_OF_LANGUAGE):
        content["metadata"]["language_info"] = expected["metadata"]["language_info"]
    for cell, after in zip(content["cells"], expected["cells"], strict=True):
        cell["metadata"] = without_times(cell["metadata"])
        for old, new in zip(cell.get("outputs", ()), after.get("outputs", ()), strict=False):
            if others_widgets and _VIEW in old.get("data", {}) and _VIEW in new.get("data", {}):
                old["data"][_VIEW] = new["data"][_VIEW]
    if others_widgets:
        content["metadata"].pop("widgets", None)
        content["metadata"] |= {name: it for name, it in expected["metadata"].items() if name == "widgets"}
    return as_bytes(content)


def _results(metadata: Mapping[str, Any]) -> list[str]:
    """What the widgets of a run show, whatever they are called."""
    models = [
        _mapping(_mapping(model).get("state"))
        for state in _mapping(metadata.get("widgets")).values()
        for model in _mapping(_mapping(state).get("state")).values()
    ]
    return [_json([name, model[name]]) for model in models for name in ("outputs", "value") if model.get(name)]


def _are_of_another_run(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether the widgets are stored as an editor's run named them, at random, or not at all."""
    if "widgets" not in stored:
        return True
    before, after = _models(stored), _models(expected)
    shown = Counter(_results(expected)) - Counter(_results(stored))  # an editor may keep those of earlier runs, too
    return bool(before) and before.isdisjoint(after) and not shown


def _models(metadata: Mapping[str, Any]) -> set[str]:
    states = (_mapping(_mapping(state).get("state")) for state in _mapping(metadata.get("widgets")).values())
    return {name for models in states for name in models}


def _is_about_widgets(difference: Difference) -> bool:
    if difference.place.endswith(f", {_VIEW}"):
        return {line[:1] for line in difference.diff} >= {"-", "+"}  # none is gone
    is_gone = difference.place == "metadata/widgets" and not any(line[:1] == "+" for line in difference.diff)
    return difference.place.startswith("metadata/widgets") and not is_gone


def _editors(difference: Difference) -> Difference:
    return replace(difference, kind=Kind.EDITOR)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_cells(stored: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]]) -> Iterator[Difference]:
    for number, (before, after) in enumerate(zip(stored, expected, strict=True)):
        place = cell_place(list(stored), number)
        if before["cell_type"] == "code":
            if before["execution_count"] != after["execution_count"]:
                diff = (f"-{before['execution_count']}", f"+{after['execution_count']}")
                yield Difference("execution count", Kind.METADATA, place, diff)
            yield from _of_outputs(place, before["outputs"], after["outputs"])
        for name in sorted({*before, *after} - {"outputs", "execution_count"}):
            for one in _of_metadata(name, before.get(name, _MISSING), after.get(name, _MISSING), place):
                yield _editors(one) if _is_below("metadata", _OF_CELLS, one) else one


def _of_outputs(place: CellPlace, stored: Sequence[Any], expected: Sequence[Any]) -> Iterator[Difference]:
    for number in range(max(len(stored), len(expected))):
        name = f"output {number + 1}"
        before = stored[number] if number < len(stored) else None
        after = expected[number] if number < len(expected) else None
        if before is None or after is None or _sort(before) != _sort(after):
            diff = tuple(line for sign, it in (("-", before), ("+", after)) if it for line in _summary(sign, it))
            what = "is new" if before is None else "is gone" if after is None else "is of another kind"
            yield Difference(f"{name} {what}", Kind.DATA, place, diff)
            continue
        yield from _of_one_output(place, name, before, after)


def _of_one_output(
    place: CellPlace, name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    shown, shown_now = before.get("data", {}), after.get("data", {})
    for form in sorted({*shown, *shown_now}):
        if shown.get(form) != shown_now.get(form):
            yield _difference(f"{name}, {form}", place, shown.get(form), shown_now.get(form), form)
    if "text" in before and before["text"] != after["text"]:
        stream = before["name"]
        found = _difference(f"{name}, {stream}", place, before["text"], after["text"], "text/plain")
        # What libraries warn of on stderr is worded by them.
        yield found if stream == "stdout" else Difference(found.place, Kind.PRESENTATION, place, found.diff, found.hint)
    for key in sorted({*before, *after} - {"data", "text"}):
        if before.get(key, _MISSING) != after.get(key, _MISSING):
            kind = Kind.DATA if key in {"ename", "evalue"} else Kind.PRESENTATION
            kind = Kind.METADATA if key in {"metadata", "execution_count"} else kind
            old, new = ("\n".join(it) if isinstance(it, list) else it for it in (before.get(key), after.get(key)))
            yield Difference(f"{name}, {key}", kind, place, diff_lines(old, new, "text/plain"), hint_at(old, new))


def _difference(where: str, place: CellPlace, before: Any, after: Any, form: str) -> Difference:
    return Difference(
        where, kind_of(before, after, form), place, diff_lines(before, after, form), hint_at(before, after)
    )


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
                    hint="It changed after the outputs were stored, or is new.",
                )
        for identifier in sorted(set(map(str, sources[0])) - set(identifiers)):
            yield Difference(f"source of a cell {identifier} that is gone", Kind.SOURCE)
    for name in sorted({*stored, *expected} - {"cells", "metadata"}):
        yield from _of_metadata(name, stored.get(name, _MISSING), expected.get(name, _MISSING))
    before, after = stored["metadata"], expected["metadata"]
    for name in sorted({*before, *after}):
        old, new = before.get(name, _MISSING), after.get(name, _MISSING)
        if name == LABEL and isinstance(sources[0], Mapping) and isinstance(old, Mapping):
            old, new = ({key: it for key, it in value.items() if key != "sources"} for value in (old, new))
        for one in _of_metadata(f"metadata/{name}", old, new):
            yield _editors(one) if _is_below("metadata/language_info", _OF_LANGUAGE, one) else one


def _is_below(path: str, names: frozenset[str], difference: Difference) -> bool:
    return difference.place.startswith(f"{path}/") and difference.place[len(path) + 1 :].split("/")[0] in names


def _part(notebook: Mapping[str, Any], name: str) -> Any:
    ours = notebook["metadata"].get(LABEL)
    return ours.get(name) if isinstance(ours, Mapping) else None


def _of_metadata(path: str, before: Any, after: Any, cell: CellPlace | None = None) -> Iterator[Difference]:
    """What differs in a tree of metadata, by path."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _of_metadata(f"{path}/{name}", before.get(name, _MISSING), after.get(name, _MISSING), cell)
        return
    lines = (f"{sign}{_json(it)}" for sign, it in (("-", before), ("+", after)) if it is not _MISSING)
    yield Difference(path, Kind.METADATA, cell, tuple(lines))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _sort(output: Mapping[str, Any]) -> tuple[object, object]:
    return output["output_type"], output.get("name")


def _summary(sign: str, output: Mapping[str, Any]) -> Iterator[str]:
    text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
    shown = text if isinstance(text, str) else _json(text)
    named = output.get("name") or ", ".join(sorted(output.get("data", {}))) or output.get("ename") or ""
    yield f"{sign}[{output['output_type']}: {named}]"
    for line in shown.splitlines():
        yield f"{sign}{line}"


def _of_layout(stored: bytes, data: bytes) -> Difference:
    before, after = (each.decode(errors="replace").split("\n") for each in (stored, data))
    lines = [
        line
        for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    return Difference(
        "how the JSON is written",
        Kind.LAYOUT,
        diff=tuple(lines[:_MOST_LAYOUT]),
        hint="The content is the same: indents, order, escapes or line ends differ.",
    )
