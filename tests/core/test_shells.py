"""Variables in the form of a reader come back from that reader as they were."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shell_readers import READERS, read_cmd

from toolkit.core.errors import ConfigurationError
from toolkit.core.shells import Form, assignment, comment, shell_word, usual_form

_LABEL = "PRIVATE KEY"  # apart from the rest, so that a scan of this file does not take it for a key
PEM = f"-----BEGIN {_LABEL}-----\nMIGHAgEAMBMGByqG\nSM49AgEG+/CCqG==\n-----END {_LABEL}-----\n"
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.parametrize("form", READERS)
@given(value=VALUES)
@example(value=PEM)
@example(value=PEM.replace("\n", "\r\n"))
@example(value='it\'s \u2019quoted\u2018 $HOME `x` "y" \\n %PATH% #z !')
@example(value="${OTHER}\\")
@example(value="")
def test_values_come_back(form, value):
    """Any value comes back from its reader, on lines between others."""
    assert READERS[form](assignment(form, "TOOLKIT_X", value)) == {"TOOLKIT_X": value}


def test_one_line():
    """A key is one line in `.env`, since many readers of such files take a line at a time."""
    assert "\n" not in assignment(Form.ENV, "TOOLKIT_X", PEM)


@pytest.mark.parametrize("form", [Form.BASH, Form.POWERSHELL, Form.TOML])
def test_lines_of_a_key(form):
    """A person can copy the lines of a key from any other form."""
    assert PEM in assignment(form, "TOOLKIT_X", PEM)


@given(VALUES)
@example("100% & more")
@example("it's | < >")
def test_values_in_cmd(value):
    """What cmd cannot hold is refused without quoting it; anything else comes back."""
    if set(value) & set('"%!^\r\n'):
        with pytest.raises(ConfigurationError) as caught:
            assignment(Form.CMD, "TOOLKIT_X", value)
        assert caught.value.what.startswith("cmd has no way to write the value of TOOLKIT_X: it has a line break")
    else:
        assert read_cmd(assignment(Form.CMD, "TOOLKIT_X", value)) == {"TOOLKIT_X": value}


@given(st.dictionaries(st.from_regex(r"TOOLKIT_[A-Z]{1,8}", fullmatch=True), VALUES))
def test_whole_files(values):
    """Several lines with comments between them make a file."""
    for form in (Form.ENV, Form.TOML):
        lines = [f"{comment(form, 'about it')}\n{assignment(form, *pair)}" for pair in values.items()]
        assert READERS[form]("\n".join(lines)) == values


@pytest.mark.parametrize("form", Form)
def test_comments(form):
    """A comment is in the words of its reader."""
    assert comment(form, "Running.") == ("rem Running." if form is Form.CMD else "# Running.")


@pytest.mark.parametrize(
    ("os_name", "environ", "form"),
    [
        ("posix", {}, "bash"),
        ("posix", {"SHELL": "/usr/bin/fish", "PSModulePath": "x"}, "bash"),
        ("nt", {}, "powershell"),
        ("nt", {"PROMPT": "$P$G"}, "cmd"),
        ("nt", {"SHELL": "/usr/bin/bash", "PROMPT": "$P$G"}, "bash"),
    ],
)
def test_usual_form(os_name, environ, form):
    """The form is that of the shell which probably started the process."""
    assert usual_form(os_name, environ) == form


@given(VALUES)
def test_words(text):
    """A word of a POSIX shell is read as one word; on Windows it has the quotes that cmd and PowerShell share."""
    assert shlex.split(shell_word(text, os_name="posix")) == [text]
    word = shell_word(text, os_name="nt")
    assert "'" not in word or word[0] == '"'
    assert word.strip('"') == text.replace('"', "").strip('"')
    assert shell_word("C:\\Users\\me\\tour.yaml", os_name="nt") == "C:\\Users\\me\\tour.yaml"
    assert shell_word("my tour.yaml", os_name="nt") == '"my tour.yaml"'
