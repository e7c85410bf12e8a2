"""No known secret is shown: `masked` replaces it in every value, and the extension in every output of a shell."""

from __future__ import annotations

import gc
import html
import io
import json
import logging
import secrets
import sys
import threading
from itertools import pairwise
from types import SimpleNamespace

import canaries
import pandas as pd
import pytest
from forgetting import forget_everything
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import HTML

from toolkit.auth.kinds import ClientSecret
from toolkit.core.secret import REGISTER, Secret
from toolkit.notebook.masking import _KNOWN, UNCHECKED, MaskedStream, Masking, masked

MARK = "<ACCESS_TOKEN>"


@pytest.fixture
def secret():
    return secrets.token_urlsafe(24) + "&'/+"


@pytest.fixture
def known(secret):
    """Let the process know the secret."""
    REGISTER.add("ACCESS_TOKEN", Secret(secret))


@pytest.fixture
def shell(known):
    """Return a shell whose output is masked; `published` lists what it published."""
    shell = InteractiveShell()
    shell.published = []
    shell.display_pub.publish = lambda data, metadata=None, **more: shell.published.append((data, metadata))
    masking = Masking(shell)
    masking.start()
    shell.masking = masking
    yield shell
    masking.stop()


def restart(shell):
    """Mask the streams of this test: pytest puts others in place for it than for its fixtures."""
    shell.masking.stop()
    shell.masking.start()


class Shown:
    """An object that shows a text in each of its representations."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"plain {self.text}"

    def _repr_html_(self):
        return f"<b title='{html.escape(self.text)}'>{html.escape(self.text)}</b>"

    def _repr_json_(self):
        return {"deep": [{"value": self.text, self.text: 1}]}

    def _repr_png_(self):
        return b"\x89PNG" + self.text.encode()


def test_displays_and_results_are_masked(shell, secret):
    """Representations, results, the history and directly published data are masked."""
    shell.user_ns |= {"shown": Shown(secret), "secret": secret}
    shell.run_cell("shown").raise_error()
    shell.display_pub.publish({"text/plain": secret}, {"text/plain": {"title": secret}}, update=True)
    data, _ = shell.display_formatter.format(Shown(secret))
    assert set(data) == {"text/plain", "text/html", "application/json", "image/png"}
    assert shell.published == [({"text/plain": MARK}, {"text/plain": {"title": MARK}})]
    seen = repr((data, shell.history_manager.output_hist_reprs))
    assert MARK in seen
    assert secret not in seen
    assert html.escape(secret) not in seen
    assert shell.user_ns["_"] is shell.user_ns["shown"]


def test_printed_text_is_masked_wherever_it_is_printed(shell, secret, capsys):
    """Text on stdout and stderr is masked, from any thread and from a log handler."""
    restart(shell)
    print(secret)
    print(secret, file=sys.stderr)
    sys.stdout.writelines([secret, "\n"])
    thread = threading.Thread(target=print, args=(f"\r50 % {secret}",), kwargs={"end": ""})
    thread.start()
    thread.join()
    logging.StreamHandler().emit(logging.makeLogRecord({"msg": secret}))
    seen = capsys.readouterr()
    assert seen.out == f"{MARK}\n{MARK}\n\r50 % {MARK}"
    assert seen.err == f"{MARK}\n{MARK}\n"
    assert sys.stdout.encoding == sys.stdout.stream.encoding


def test_errors_are_masked(shell, secret, capsys):
    """Tracebacks and messages of errors are masked; the type of the error stays."""
    seen = []
    shell.masking.stop()
    shell._showtraceback = lambda kind, error, lines: seen.append((kind.__name__, str(error), *lines))
    shell.masking.start()
    shell.user_ns["secret"] = secret
    shell.run_cell("raise KeyError(secret)")
    shell.run_cell("1 / 0")
    assert [kind for kind, *_ in seen] == ["KeyError", "ZeroDivisionError"]
    assert secret not in repr(seen)
    assert seen[0][1].strip("'\"") == MARK
    assert seen[1][1] == "division by zero"


def test_the_pager_is_masked_and_code_for_the_next_cell_is_not(shell, secret):
    """The pager's text is masked in a kernel's reply; code for the next cell is not, nor is the source of a cell."""
    shell.masking.stop()
    session = SimpleNamespace(msg=lambda kind, content: content, send=lambda stream, message, buffers=None: buffers)
    shell.kernel = SimpleNamespace(session=session)
    shell.masking.start()
    payload = [{"source": "page", "data": {"text/plain": secret}}, {"source": "set_next_input", "text": secret}]
    sent = session.msg("execute_reply", {"payload": payload, "status": secret})
    assert sent["payload"][0]["data"]["text/plain"] == sent["status"] == MARK
    assert sent["payload"][1]["text"] == secret
    assert session.msg("execute_input", {"code": secret}) == {"code": secret}
    assert session.send("stream", "message", [secret.encode()]) == [MARK.encode()]


def test_a_secret_is_masked_from_the_moment_it_exists(shell):
    """Neither credentials nor `tk.Secret` need a session for that, and a text that was in them stays masked."""
    texts = [secrets.token_urlsafe(24) for _ in range(2)]
    ClientSecret("client-1", texts[0], environment="broker-sandbox")
    Secret(texts[1])
    gc.collect()
    shown = [shell.display_formatter.format(text)[0]["text/plain"] for text in texts]
    assert shown == ["'<CLIENT_SECRET>'", "'<SECRET>'"]


def written(pieces):
    """Return what a masked stream writes of a text that comes in pieces."""
    below = io.StringIO()
    stream = MaskedStream(below)
    stream.writelines(pieces)
    stream.release()
    return below.getvalue()


@given(
    before=st.text(max_size=20),
    after=st.text(max_size=20),
    cuts=st.lists(st.integers(0, 80)),
    repeats=st.integers(1, 2),
)
def test_text_in_pieces_is_masked(before, after, cuts, repeats):
    """However a text is cut into pieces, at most the first three characters of a secret are shown."""
    forget_everything()
    secret = f"Zx8Kq1-{'Vw5Nt3Bs7Hd2Lm9'}"
    REGISTER.add("ACCESS_TOKEN", Secret(secret))
    text = before + secret * repeats + after
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    seen = written(text[start:end] for start, end in pairwise(places))
    assert not any(secret[at : at + 4] in seen for at in range(len(secret) - 3))
    assert seen.startswith(before[:-3])
    assert seen.endswith(after.lstrip("="))  # padding of base64 goes with the secret
    assert seen.count(MARK) == repeats


@given(cuts=st.sets(st.integers(1, 39)))
def test_part_of_a_secret_in_pieces_is_masked(cuts):
    """A part from the middle of a secret is masked, however it is cut; at most its first three characters are shown."""
    forget_everything()
    secret = "wandering amber giraffes paint quiet lanterns by moonlight"
    REGISTER.add("PASSWORD", Secret(secret))
    seen = written(secret[5:45][start:end] for start, end in pairwise(sorted({0, 40, *cuts})))
    assert seen.endswith("<PASSWORD>")
    assert secret[5:8].startswith(seen.removesuffix("<PASSWORD>"))


def test_a_secret_whose_end_looks_like_a_part_of_one_is_masked_as_a_whole():
    """The last characters of a secret do not wait as the beginning of another piece, which would show them."""
    forget_everything()
    secret = "7f80c1d2e3a4b5968778" + "a0b1c2d37f80"
    REGISTER.add("CLIENT_SECRET", Secret(secret))
    assert written([secret, "\n"]) == "<CLIENT_SECRET>\n"


def test_ordinary_text_in_pieces_is_complete(shell, secret, capsys):
    """Text that begins like a secret and is not one is shown at the latest at the end of the cell."""
    restart(shell)
    shell.user_ns["start"] = secret[:8]
    shell.run_cell("print('a', end=''); print(start, end='')").raise_error()
    assert capsys.readouterr().out == f"a{secret[:8]}"
    shell.run_cell("print(start, end=''); print('!', end='')").raise_error()
    assert capsys.readouterr().out == f"{secret[:8]}!"
    shell.user_ns["secret"] = secret
    shell.run_cell("for letter in secret: print(letter, end='')").raise_error()
    assert capsys.readouterr().out == f"{secret[:3]}{MARK}"


def test_highlighted_text_is_masked(shell, secret, capsys):
    """A highlighter that changes colours within a secret, in a terminal or in HTML, does not uncover it."""
    restart(shell)
    middle = len(secret) // 2
    print(f"token \x1b[1m{secret[:5]}\x1b[1;36m{secret[5:middle]}\x1b[0m{secret[middle:]}\x1b[0m!")
    assert capsys.readouterr().out == f"token {MARK}!\n"
    spans = "".join(f"<span style='color: blue'>{html.escape(letter)}</span>" for letter in secret)
    data, _ = shell.display_formatter.format(HTML(f"<p>{spans}</p>"))
    assert data["text/html"] == MARK
    coloured = "\x1b[1mno secret\x1b[0m <b>here</b>"
    print(coloured)
    assert capsys.readouterr().out == f"{coloured}\n"


def test_exported_notebook_is_masked(shell, secret, tmp_path, monkeypatch):
    """`%notebook` exports what a cell showed and what `%%capture` caught, without the secret."""
    monkeypatch.chdir(tmp_path)
    shell.user_ns["secret"] = secret
    cells = [
        "%%capture caught\nprint(secret); secret",
        "print(secret[:9], end=''); print(secret[9:])",
        "caught.show()",
        "%notebook exported.ipynb",
    ]
    for cell in cells:
        shell.run_cell(cell, store_history=True).raise_error()
    exported = (tmp_path / "exported.ipynb").read_text()
    assert MARK in exported
    canaries.assert_absent(tmp_path / "exported.ipynb", secret)


def test_tables_are_shown_without_control_characters(shell):
    """A table of pandas moves no cursor and reorders no line, as text or HTML; its data stay as they are."""
    hostile = "a\x1b]0;title\x07b\u202ec"
    table = pd.DataFrame({"name": [hostile]})
    for shown in (table, table["name"], table.set_index("name").index):
        data, _ = shell.display_formatter.format(shown)
        assert not {"\x1b", "\x07", "\u202e"} & set("".join(data.values()))
        assert all("a]0;titlebc" in text for text in data.values())
    assert table.loc[0, "name"] == hostile
    assert "\\u202e" in shell.display_formatter.format(hostile)[0]["text/plain"]


def test_text_that_waits_is_shown_at_exit_and_before_a_question(shell, secret, capsys):
    """Text of a thread that looks like the beginning of a secret does not wait for a cell that never comes."""
    ends = []
    shell.kernel = SimpleNamespace(raw_input=lambda prompt: capsys.readouterr().out + prompt)
    shell.masking.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolkit.notebook.masking.atexit", SimpleNamespace(register=ends.append, unregister=ends.remove))
        shell.masking.start()
        print(f"a{secret[:8]}", end="")
        assert shell.kernel.raw_input("name? ") == f"a{secret[:8]}name? "
        print(f"b{secret[:8]}", end="")
        for end in ends:
            end()
        assert capsys.readouterr().out == f"b{secret[:8]}"
        shell.masking.stop()
    assert ends == []


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    )
)
def test_a_value_without_secrets_passes_unchanged(value):
    """A value without secrets is equal and of the same type; a container is the same object."""
    shown = masked(value)
    assert shown == value
    assert type(shown) is type(value)
    assert shown is value or isinstance(value, str | bytes)


@pytest.mark.parametrize("write", [html.escape, repr, json.dumps])
def test_pieces_of_an_escaped_secret_are_masked(write):
    """Of a secret that pages, code and JSON escape in many places, a display shows no twelve characters either."""
    text = "".join(secrets.choice("<>&\"'\\ab") for _ in range(60))
    REGISTER.add("CLIENT_SECRET", Secret(text))
    assert masked(f"a {write(text)[8:-8]}...") in ("a <CLIENT_SECRET>...", "a <SECRET>...")


def test_what_cannot_be_checked_is_not_shown(monkeypatch):
    """A text that cannot be checked is left out, and containers keep their types."""

    def fail(text):
        if "bad" in text:
            raise ValueError("cannot be read")
        return text

    monkeypatch.setattr(_KNOWN.secrets, "scrub_text", fail)
    assert masked("bad") == UNCHECKED
    assert masked({"a": "bad", "b": ["good", ("bad", 3)]}) == {"a": UNCHECKED, "b": ["good", (UNCHECKED, 3)]}
    endless = {}
    endless["itself"] = endless
    assert masked(endless) == {}
