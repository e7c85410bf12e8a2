"""A shell with the extension loaded shows no known secret by any way."""

from __future__ import annotations

import gc
import html
import io
import logging
import secrets
import sys
import threading

import pytest
from IPython.core.interactiveshell import InteractiveShell

from toolkit.auth.credentials import ClientSecret
from toolkit.core.register import REGISTER
from toolkit.core.secret import Secret
from toolkit.notebook.masking import Masking, mask_stream

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
    """Text on stdout and stderr is masked, from any thread and from a log handler with an older stream."""
    shell.masking.stop()
    handler = logging.StreamHandler()
    shell.masking.start()
    print(secret)
    print(secret, file=sys.stderr)
    sys.stdout.writelines([secret, "\n"])
    thread = threading.Thread(target=print, args=(f"\r50 % {secret}",), kwargs={"end": ""})
    thread.start()
    thread.join()
    handler.emit(logging.makeLogRecord({"msg": secret}))
    seen = capsys.readouterr()
    assert secret not in seen.out + seen.err
    assert seen.out == f"{MARK}\n{MARK}\n\r50 % {MARK}"
    assert seen.err == f"{MARK}\n{MARK}\n"


def test_masking_starts_in_the_cell_that_loads_the_extension(shell, secret, capsys):
    """Masking starts in the cell that loads the extension, and survives IPython's own changes to `write`."""
    shell.masking.stop()
    shell.user_ns |= {"masking": shell.masking, "secret": secret}
    shell.run_cell("masking.start(); print(secret)")
    for _ in range(3):
        shell.run_cell("print(secret)")
    print(secret)
    assert secret not in capsys.readouterr().out
    assert not isinstance(vars(sys.stdout)["write"], type(sys.stdout.write))  # or each cell would add a layer
    shell.run_cell("masking.stop()")
    print(secret)
    shell.run_cell("print(secret)")
    assert capsys.readouterr().out == f"{secret}\n" * 2


def test_a_stream_in_c_is_replaced_and_put_back(known, secret, monkeypatch):
    """A stream in C is replaced by an object with its attributes that masks text and lines, and is put back."""
    below = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", below)
    undo = mask_stream("stdout")
    print(secret)
    sys.stdout.writelines([secret])
    assert sys.stdout.encoding == "utf-8"
    assert sys.stdout is not below
    undo()
    assert sys.stdout is below
    below.flush()
    assert below.buffer.getvalue().decode() == f"{MARK}\n{MARK}"


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
    """The pager's text is masked; code for the next cell is not."""
    shell.payload_manager.write_payload({"source": "page", "data": {"text/plain": secret}})
    shell.payload_manager.write_payload({"source": "set_next_input", "text": secret})
    page, code = shell.payload_manager.read_payload()
    assert page["data"]["text/plain"] == MARK
    assert code["text"] == secret


def test_stopping_undoes_everything(shell):
    """After `stop` the shell and the streams are as before `start`."""
    shell.masking.stop()
    kinds = type(sys.stdout), type(sys.stderr)
    before = dict(vars(shell.display_formatter)), dict(vars(shell.display_pub)), shell._showtraceback
    shell.masking.start()
    shell.masking.start()
    assert type(sys.stdout) is not kinds[0]
    shell.masking.stop()
    shell.masking.stop()
    assert (type(sys.stdout), type(sys.stderr)) == kinds
    assert (vars(shell.display_formatter), vars(shell.display_pub), shell._showtraceback) == before


def test_a_secret_is_masked_from_the_moment_credentials_exist(shell):
    """Credentials need no session for that, and what they leave behind in a variable stays masked."""
    credentials = ClientSecret("client-1", secrets.token_urlsafe(24), environment="broker-sandbox")
    text = credentials.client_secret.reveal()
    assert shell.display_formatter.format(text)[0] == {"text/plain": "'<CLIENT_SECRET>'"}
    del credentials
    gc.collect()
    assert shell.display_formatter.format(text)[0] == {"text/plain": "'<CLIENT_SECRET>'"}
