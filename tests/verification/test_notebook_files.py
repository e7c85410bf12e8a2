"""Notebooks on the disk: finding, reading and replacing them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import odd_notebooks, write_notebook

from toolkit.core.errors import ConfigurationError
from toolkit.verification.normalize import as_bytes, source_digests
from toolkit.verification.notebook_files import (
    NotANotebook,
    find_notebooks,
    parse_notebook,
    read_notebook,
    replace_notebook,
)

EMPTY = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_find_notebooks(tmp_path):
    """Notebooks are found once and in order, without checkpoints and hidden folders."""
    wanted = [write_notebook(tmp_path / name, "1") for name in ("a.ipynb", "sub/b.ipynb")]
    for name in (".ipynb_checkpoints/a-checkpoint.ipynb", ".venv/x.ipynb"):
        write_notebook(tmp_path / name, "1")
    assert find_notebooks([tmp_path, wanted[1]]) == wanted
    assert find_notebooks([tmp_path / "sub" / ".." / "a.ipynb", tmp_path])[1:] == wanted[1:]


@pytest.mark.parametrize(
    ("name", "words"), [("none", "does not exist"), ("empty", "has no notebooks in it"), ("a.txt", "is not a notebook")]
)
def test_path_without_notebooks(tmp_path, name, words):
    """A missing path, an empty folder and another file have an error each."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").touch()
    with pytest.raises(ConfigurationError, match=words):
        find_notebooks([tmp_path / name])
    with pytest.raises(ConfigurationError, match="No notebooks were named"):
        find_notebooks([])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{\n<<<<<<< ours\n", "Line 2 is not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "format 4"),
        (json.dumps({**EMPTY, "nbformat": 3}).encode(), "format 4"),
        (json.dumps({**EMPTY, "metadata": {"kernelspec": {"language": "R"}}}).encode(), "language is R"),
        (json.dumps({**EMPTY, "metadata": []}).encode(), "does not follow"),
        (json.dumps({**EMPTY, "cells": [1]}).encode(), "does not follow"),
        (json.dumps({**EMPTY, "cells": [{"cell_type": "code"}]}).encode(), "does not follow"),
    ],
)
def test_invalid_notebook(data, words):
    """Whatever the bytes, the error is one sentence with a next step."""
    with pytest.raises(NotANotebook, match=words) as refused:
        parse_notebook(data)
    assert refused.value.next_step
    if b"<<<<" in data:
        assert "merge" in refused.value.next_step


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("half", r"half a character, \\ud83d,"),
        ("digits", "number with too many digits"),
        ("nested", "nested too deeply"),
        ("float", "does not follow"),
    ],
)
def test_odd_notebook(odd, words):
    """Half an emoji, a number of 5000 digits, 2000 nested lists and a float as the format are refused."""
    with pytest.raises(NotANotebook, match=words) as refused:
        parse_notebook(odd_notebooks()[odd].encode())
    assert refused.value.next_step


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_any_text_is_kept_or_refused(source, name):
    """Any source and metadata name, lone surrogates included, is refused or kept as it is."""
    cell = {"cell_type": "markdown", "id": "a", "metadata": {name: 1} if name != "tags" else {}, "source": source}
    data = json.dumps({**EMPTY, "cells": [cell]}).encode()
    try:
        read = parse_notebook(data)
    except NotANotebook:
        return
    assert source_digests(read.cells)
    assert parse_notebook(as_bytes(read.content)).content == read.content
    assert read.cells[0]["source"] == source


def test_missing_cell_ids():
    """A missing or repeated id is replaced by one with the number of the cell."""
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["a\n", "b"]}
    cells = [cell, {**cell, "id": "x"}, {**cell, "id": "x"}, {**cell, "id": "cell-5"}, cell]
    read = parse_notebook(json.dumps({**EMPTY, "cells": cells}).encode())
    assert [cell["id"] for cell in read.cells] == ["cell-1", "x", "cell-3", "cell-5", "cell-5-2"]
    assert read.cells[0]["source"] == "a\nb"


def test_line_ends_of_windows(tmp_path):
    """A file with Windows line ends throughout counts as having plain ones; a single one does not."""
    file = tmp_path / "a.ipynb"
    plain = json.dumps(EMPTY, indent=1).encode() + b"\n"
    file.write_bytes(plain.replace(b"\n", b"\r\n"))
    assert read_notebook(file).data == plain
    file.write_bytes(plain.replace(b"\n", b"\r\n", 1))
    assert read_notebook(file).data != plain


def test_replaced_notebook(tmp_path):
    """The permissions stay, and no temporary file does; a link is not followed, which the error says."""
    file, link = tmp_path / "sub" / "a.ipynb", tmp_path / "link.ipynb"
    file.parent.mkdir()
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    with pytest.raises(ConfigurationError, match=r"link\.ipynb cannot be written: it is a link"):
        replace_notebook(link, b"old", b"new")
    assert file.read_bytes() == b"old"
    replace_notebook(file, b"old", b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["a.ipynb"]


def test_changed_notebook_is_not_replaced(tmp_path):
    """A notebook that was saved while it ran is not overwritten."""
    file = tmp_path / "a.ipynb"
    file.write_bytes(b"newer")
    with pytest.raises(ConfigurationError, match="changed while"):
        replace_notebook(file, b"old", b"new")
    assert file.read_bytes() == b"newer"


def test_unreadable_notebook(tmp_path):
    """An error of the disk is reported."""
    with pytest.raises(NotANotebook, match="cannot be read"):
        read_notebook(tmp_path / "gone.ipynb")
