"""Notebooks on the disk: which are found, which are refused and in what words, and how one is replaced."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_notebooks_below_a_folder_are_found_once_and_in_order(tmp_path, write_notebook):
    """Checkpoints and hidden folders hold none; a file that is named as well is not run twice."""
    wanted = [write_notebook(tmp_path / name, "1") for name in ("a.ipynb", "sub/b.ipynb")]
    for name in (".ipynb_checkpoints/a-checkpoint.ipynb", ".venv/x.ipynb"):
        write_notebook(tmp_path / name, "1")
    assert find_notebooks([tmp_path, wanted[1]]) == wanted
    assert find_notebooks([tmp_path / "sub" / ".." / "a.ipynb", tmp_path])[1:] == wanted[1:]


@pytest.mark.parametrize(
    ("name", "words"), [("none", "does not exist"), ("empty", "no notebook in"), ("a.txt", "is no notebook")]
)
def test_a_path_without_notebooks_is_refused(tmp_path, name, words):
    """A missing path, an empty folder and another file are each told apart."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").touch()
    with pytest.raises(ConfigurationError, match=words):
        find_notebooks([tmp_path / name])
    with pytest.raises(ConfigurationError, match="No notebook is named"):
        find_notebooks([])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{\n<<<<<<< ours\n", "Line 2 is not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b"[]", "format 4"),
        (json.dumps({**EMPTY, "nbformat": 3}).encode(), "format 4"),
        (json.dumps({**EMPTY, "metadata": {"kernelspec": {"language": "R"}}}).encode(), "language is R"),
        (json.dumps({**EMPTY, "metadata": []}).encode(), "in keeping"),
        (json.dumps({**EMPTY, "cells": [1]}).encode(), "in keeping"),
        (json.dumps({**EMPTY, "cells": [{"cell_type": "code"}]}).encode(), "in keeping"),
    ],
)
def test_what_is_no_notebook_is_refused_in_words(data, words):
    """Whatever the bytes, the reason is one sentence and there is a next step."""
    with pytest.raises(NotANotebook, match=words) as refused:
        parse_notebook(data)
    assert refused.value.next_step
    if b"<<<<" in data:
        assert "merge" in refused.value.next_step


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("half", r"half a character, \\ud83d,"),
        ("digits", "number of too many digits"),
        ("nested", "nested too deep"),
        ("float", "in keeping"),
    ],
)
def test_what_passes_for_a_notebook_is_refused_in_words(odd_notebooks, odd, words):
    """Half an emoji, a number of 5000 digits, 600 lists within each other, and a format that is no whole number."""
    with pytest.raises(NotANotebook, match=words) as refused:
        parse_notebook(odd_notebooks[odd].encode())
    assert refused.value.next_step


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_a_text_is_refused_or_can_be_written_and_read_again(source, name):
    """Whatever a source and a name in the metadata hold, halves of characters included: refused, or kept as it is."""
    cell = {"cell_type": "markdown", "id": "a", "metadata": {name: 1} if name != "tags" else {}, "source": source}
    data = json.dumps({**EMPTY, "cells": [cell]}).encode()
    try:
        read = parse_notebook(data)
    except NotANotebook:
        return
    assert source_digests(read.cells)
    assert parse_notebook(as_bytes(read.content)).content == read.content
    assert read.cells[0]["source"] == source


def test_cells_without_ids_are_named_the_same_every_time():
    """A missing id and one that is taken are replaced by one that tells the cell's number."""
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["a\n", "b"]}
    cells = [cell, {**cell, "id": "x"}, {**cell, "id": "x"}, {**cell, "id": "cell-5"}, cell]
    read = parse_notebook(json.dumps({**EMPTY, "cells": cells}).encode())
    assert [each["id"] for each in read.cells] == ["cell-1", "x", "cell-3", "cell-5", "cell-5-2"]
    assert read.cells[0]["source"] == "a\nb"


def test_line_ends_of_a_windows_checkout_are_no_difference(tmp_path):
    """All line ends as git writes them there count as plain ones; a single one does not."""
    file = tmp_path / "a.ipynb"
    plain = json.dumps(EMPTY, indent=1).encode() + b"\n"
    file.write_bytes(plain.replace(b"\n", b"\r\n"))
    assert read_notebook(file).data == plain
    file.write_bytes(plain.replace(b"\n", b"\r\n", 1))
    assert read_notebook(file).data != plain


def test_a_notebook_is_replaced_whole_with_its_mode_and_through_its_link(tmp_path):
    """The link stays, the mode stays, and no temporary file does."""
    file, link = tmp_path / "sub" / "a.ipynb", tmp_path / "link.ipynb"
    file.parent.mkdir()
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    replace_notebook(link, b"old", b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in file.parent.iterdir()] == ["a.ipynb"]


def test_a_notebook_that_changed_meanwhile_is_left_alone(tmp_path):
    """What somebody saved while it ran is not overwritten."""
    file = tmp_path / "a.ipynb"
    file.write_bytes(b"newer")
    with pytest.raises(ConfigurationError, match="changed while"):
        replace_notebook(file, b"old", b"new")
    assert file.read_bytes() == b"newer"


def test_a_notebook_that_cannot_be_read_says_so(tmp_path):
    """An error of the disk is told in its words."""
    with pytest.raises(NotANotebook, match="cannot be read"):
        read_notebook(tmp_path / "gone.ipynb")
