"""What a kernel shows holds no secret that a session knows, on whatever way it is shown."""

from __future__ import annotations

import base64
import gc
import html
import io
import json
import logging
import secrets
import sys
import threading
from urllib.parse import quote

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from toolkit.core.secret import Secret
from toolkit.notebook.masking import Masking, mask_stream, masked
from toolkit.scrubbing.live import SESSION_SECRETS, SessionSecrets
from toolkit.scrubbing.pieces import Pieces
from toolkit.scrubbing.scrubber import KnownSecrets

MARK = "<ACCESS_TOKEN>"


@pytest.fixture
def secret():
    return secrets.token_urlsafe(24) + "&'/+"


@pytest.fixture
def known(secret):
    """Secrets of a live session."""
    known = KnownSecrets([("ACCESS_TOKEN", Secret(secret))])
    SESSION_SECRETS.add(known)
    return known


@pytest.fixture
def shell(known):
    """A shell whose output is masked, and that tells what it published."""
    shell = InteractiveShell()
    shell.published = []
    shell.display_pub.publish = lambda data, metadata=None, **more: shell.published.append((data, metadata))
    masking = Masking(shell)
    masking.start()
    shell.masking = masking
    yield shell
    masking.stop()


class Shown:
    """An object with several faces, all of which show a text."""

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


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    )
)
def test_what_holds_no_secret_passes_as_it_was(value):
    """Equal, of the same types, and containers even the very same."""
    shown = masked(value)
    assert shown == value
    assert type(shown) is type(value)
    assert shown is value or isinstance(value, str | bytes)


def test_each_form_is_masked(known, secret):
    """As it is, and as JSON, URLs, HTML and base64 write it; in text, in bytes, in keys."""
    forms = [secret, json.dumps(secret), quote(secret), html.escape(secret), base64.b64encode(secret.encode()).decode()]
    for form in forms:
        assert form not in masked(f"a {form} b")
    assert masked({secret: [secret.encode(), (secret,)]}) == {MARK: [MARK.encode(), (MARK,)]}


def test_what_cannot_be_checked_is_not_shown(monkeypatch):
    """A display never fails for it, nor does it let anything through."""
    monkeypatch.setattr(SESSION_SECRETS, "scrub_text", lambda text: 1 / 0)
    assert "could not be checked" in masked("text")


def test_displays_and_results_are_masked(shell, secret):
    """Each face of an object, the text/plain of a result, its entry in the history, and what is published as it is."""
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
    """stdout and stderr, of this thread and of others, and of log handlers that took the stream before."""
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


def test_it_holds_in_the_cell_that_turns_it_on_and_in_those_after(shell, secret, capsys):
    """IPython replaces a stream's `write` while a cell runs, and puts back what was there."""
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
    """It has what the stream has; text is masked, lines too."""
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
    """In the traceback and in the words of the error; of the kind that it was."""
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
    """`name?` is saved with the cell."""
    shell.payload_manager.write_payload({"source": "page", "data": {"text/plain": secret}})
    shell.payload_manager.write_payload({"source": "set_next_input", "text": secret})
    page, code = shell.payload_manager.read_payload()
    assert page["data"]["text/plain"] == MARK
    assert code["text"] == secret


def test_all_is_as_it_was_afterwards(shell):
    """Nothing of it is left on the shell or on the streams."""
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


def test_a_session_that_is_gone_is_masked_all_the_same(shell):
    """Its token may be in a variable, or in an answer."""
    other = secrets.token_urlsafe(24)
    SESSION_SECRETS.add(KnownSecrets([("ACCESS_TOKEN", Secret(other))]))
    gc.collect()
    assert shell.display_formatter.format(other)[0] == {"text/plain": f"'{MARK}'"}


def test_secrets_are_remembered_while_the_extension_is_loaded(secret):
    """A session that is gone may have left its token in a variable; without a keeper nothing is kept alive."""
    registry = SessionSecrets()
    registry.hold()
    registry.add(KnownSecrets([("ACCESS_TOKEN", Secret(secret))]))
    gc.collect()
    assert registry.scrub_text(secret) == MARK
    assert registry.scrub(secret.encode()) == MARK.encode()
    registry.release()
    gc.collect()
    assert registry.scrub_text(secret) == secret
    registry.add(KnownSecrets([("ACCESS_TOKEN", Secret(secret))]))
    gc.collect()
    assert registry.scrub_text(secret) == secret


KERNEL_CELLS = [
    """import asyncio, logging, sys, threading, secrets
from IPython.display import display, HTML, JSON
import ipywidgets, toolkit as tk
credentials = tk.ClientSecret("client-1", secrets.token_urlsafe(30), environment="broker-sandbox")
session = tk.Session(credentials=credentials, settings=tk.Settings())
secret = credentials.client_secret.reveal()
early = logging.StreamHandler()""",
    "%load_ext toolkit\nprint('in the same cell', secret)",
    "print('later', secret); print(secret, file=sys.stderr); sys.stdout.write(secret + '\\n')",
    "await asyncio.sleep(0); print('async', secret); {'result': secret}",
    "thread = threading.Thread(target=print, args=('thread', secret)); thread.start(); thread.join()",
    "display(HTML(f'<b>{secret}</b>'), JSON({'a': [secret]}))",
    "display({'text/plain': secret}, raw=True)",
    "handle = display(secret, display_id=True); handle.update('now ' + secret)",
    "early.emit(logging.makeLogRecord({'msg': secret}))",
    "bar = ipywidgets.IntProgress(value=3); display(bar); bar.value = 5; [bar.value, type(sys.stdout).__name__]",
    "out = ipywidgets.Output()\nwith out:\n    print('captured', secret)\nout.append_display_data(secret)\nout.outputs",
    "!echo $secret",
    "raise ValueError('failed with ' + secret)",
    "secret?",
    "import pandas; pandas.DataFrame({'token': [secret * 2]})",
    "ipywidgets.HTML('<b>' + secret + '</b>')",
    "print(secret[:20], end=''); print(secret[20:])",
    "raise ValueError('failed again with ' + secret)",
    "%unload_ext toolkit\nprint('open again', secret)",
    "print('open again', secret)\nprint('the end')",
]


def test_in_a_kernel(tmp_path):
    """Async cells, threads, both streams, rich displays, updates, widgets, subprocesses, errors and help."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in KERNEL_CELLS])
    # What one print writes may come in several messages, whenever the kernel's timer says so.
    client = NotebookClient(
        notebook,
        timeout=120,
        allow_errors=True,
        coalesce_streams=True,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    outputs = [json.dumps(cell.outputs) for cell in notebook.cells]
    secret = notebook.cells[-1].outputs[0]["text"].split()[2]
    assert len(secret) == 40
    shown = json.dumps(notebook.metadata) + "".join(outputs[:-2])
    assert secret not in shown
    assert base64.b64encode(secret.encode()).decode() not in shown
    for number in range(1, 13):
        if number != 9:
            assert "<CLIENT_SECRET>" in outputs[number], KERNEL_CELLS[number]
    for number in range(14, 18):
        assert "<CLIENT_SECRET>" in outputs[number] or number == 15, KERNEL_CELLS[number]
    widgets = json.dumps(notebook.metadata["widgets"])
    assert "<b><CLIENT_SECRET></b>" in widgets
    assert not any(secret[at : at + 12] in shown for at in range(len(secret) - 11))
    assert "[5, 'OutStream']" in outputs[9]
    assert "ValueError" in outputs[12]
    assert outputs[-2].count(secret) == 1
    assert "the end" in outputs[-1]


def test_replies_and_input_of_a_kernel(tmp_path):
    """An error's reply is masked as its traceback is; a secret that is typed at input() is warned of."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    secret = secrets.token_urlsafe(30)
    written = []

    def run(code, answer=None):
        def heard(message):
            if message["msg_type"] == "stream":
                written.append(message["content"]["text"])

        def asked(_):
            client.input(answer)

        options = {"allow_stdin": answer is not None, "output_hook": heard, "stdin_hook": asked, "timeout": 60}
        return client.execute_interactive(code, **options)["content"]

    try:
        run("import toolkit as tk\n%load_ext toolkit")
        ask = "typed = input('secret: ')\ntk.ClientSecret('client-1', typed, environment='broker-sandbox')"
        assert run(ask, secret)["status"] == "ok"
        told = "".join(written)
        assert "The client secret was typed at input(), and JupyterLab saves in the notebook" in told
        assert secret not in told
        run(
            "session = tk.Session(credentials=tk.ClientSecret('client-1', typed, environment='broker-sandbox'),"
            " settings=tk.Settings())"
        )
        reply = run("raise KeyError(typed)")
        assert (reply["status"], reply["ename"]) == ("error", "KeyError")
        assert secret not in json.dumps(reply)
        expressions = client.execute_interactive("1", user_expressions={"typed": "typed"}, timeout=60)
        assert "<CLIENT_SECRET>" in json.dumps(expressions["content"]["user_expressions"])
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_what_a_kernel_sends_in_binary(tmp_path):
    """The bytes of a widget, which a notebook keeps with its state; those without a secret pass as they are."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    sent = []

    def run(code):
        content = client.execute_interactive(
            code, output_hook=lambda message: sent.extend(map(bytes, message["buffers"])), timeout=60
        )["content"]
        assert content["status"] == "ok", content

    try:
        run("import ipywidgets, secrets, toolkit as tk\n%load_ext toolkit\nsecret = secrets.token_urlsafe(30)")
        run(
            "session = tk.Session(credentials=tk.ClientSecret('client-1', secret, environment='broker-sandbox'),"
            " settings=tk.Settings())"
        )
        run("image = ipywidgets.Image(value=b'\\x89PNG ' + secret.encode()); image")
        run("image.value = b'\\x89PNG plain'; image.value = bytearray(secret.encode()) + b' \\xff'")
        run(
            "kernel = get_ipython().kernel\n"
            "kernel.session.send(kernel.iopub_socket, 'stream', {'name': 'stdout', 'text': ''},"
            " kernel.get_parent(), None, [secret.encode()])"
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert sent == [b"\x89PNG <CLIENT_SECRET>", b"\x89PNG plain", b"<CLIENT_SECRET> \xff", b"<CLIENT_SECRET>"]


def test_what_cannot_be_checked_leaves_a_message_in_its_kind(shell, monkeypatch):
    """A message whose content were a text would stop the kernel: each text of it is left out by itself."""

    def fail(text):
        if "bad" in text:
            raise ValueError("cannot be read")
        return text

    monkeypatch.setattr(SESSION_SECRETS, "scrub_text", fail)
    assert masked({"a": "bad", "b": ["good", ("bad", 3)]}) == {
        "a": "<not shown: it could not be checked for secrets>",
        "b": ["good", ("<not shown: it could not be checked for secrets>", 3)],
    }
    endless = {}
    endless["itself"] = endless
    assert masked(endless) == {}


def test_what_prints_while_pieces_are_gathered(shell, monkeypatch):
    """The garbage collector may run there, and what it collects may print."""
    add = Pieces.add

    def printing(self, secret, stand_in):
        masked("meanwhile")
        add(self, secret, stand_in)

    monkeypatch.setattr(Pieces, "add", printing)
    other = KnownSecrets([("ACCESS_TOKEN", Secret(secrets.token_urlsafe(24)))])
    SESSION_SECRETS.add(other)
    thread = threading.Thread(target=masked, args=("text",), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
