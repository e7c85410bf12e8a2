"""A kernel with the extension loaded sends no secret in outputs, replies, widgets and binary messages."""

from __future__ import annotations

import base64
import json
import os
import secrets
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

import toolkit

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
    "for letter in secret:\n    print(letter, end='', flush=True)",
    "import subprocess; subprocess.run(['echo', secret]).returncode",
    "from rich import print as show; show([secret, {'secret': secret}])",
    "%unload_ext toolkit\nprint('open again', secret)",
    "print('open again', secret)\nprint('the end')",
]


@pytest.fixture
def colab(tmp_path, monkeypatch):
    """Let kernels be like Colab's."""
    profile = tmp_path / ".ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text('c.IPKernelApp.kernel_class = "colab_kernel.Kernel"\n')
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), str(Path(toolkit.__file__).parents[1])])
    )


@pytest.mark.parametrize("kernel", ["ipykernel", "colab"])
def test_no_output_of_a_notebook_holds_a_secret(tmp_path, kernel, request):
    """No output holds a secret: async cells, threads, streams, displays, widgets, subprocesses, errors, help."""
    if kernel == "colab":
        request.getfixturevalue("colab")
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
    assert [KERNEL_CELLS[number] for number, output in enumerate(outputs[:-2]) if secret in output] == []
    assert base64.b64encode(secret.encode()).decode() not in shown
    for number in range(1, 13):
        if number != 9:
            assert "<CLIENT_SECRET>" in outputs[number], KERNEL_CELLS[number]
    for number in range(14, 18):
        assert "<CLIENT_SECRET>" in outputs[number] or number == 15, KERNEL_CELLS[number]
    widgets = json.dumps(notebook.metadata["widgets"])
    assert "<b><CLIENT_SECRET></b>" in widgets
    assert not any(secret[at : at + 12] in shown for at in range(len(secret) - 11))
    assert "[5, 'MaskedStream']" in outputs[9]
    assert "ValueError" in outputs[12]
    assert outputs[-2].count(secret) == 1
    assert "the end" in outputs[-1]


def test_a_panel_in_colab(tmp_path, colab):
    """Colab gets a panel with the manager that loads its widgets, after words that the panel hides."""
    cells = ["%load_ext toolkit\nimport toolkit as tk", "tk.panel('paper')", "type(get_ipython()).__module__"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert notebook.cells[2].outputs[0]["data"]["text/plain"] == "'colab_kernel'"
    words, output = notebook.cells[1].outputs
    view = "application/vnd.jupyter.widget-view+json"
    assert sorted(words["data"]) == ["text/html", "text/plain"]
    assert output["metadata"][view]["colab"]["custom_widget_manager"]["url"].endswith("manager.min.js")


SESSION = (
    "session = tk.Session(credentials=tk.ClientSecret('client-1', {}, environment='broker-sandbox'),"
    " settings=tk.Settings())"
)


@pytest.fixture
def client(tmp_path):
    """Return a client of a running kernel with the extension loaded."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    client.execute_interactive("import ipywidgets, secrets, toolkit as tk\n%load_ext toolkit", timeout=60)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_replies_input_and_binary_messages_hold_no_secret(client):
    """Replies, expressions and buffers are masked, and a secret typed at input() is warned about."""
    secret = secrets.token_urlsafe(30)
    written, buffers = [], []

    def run(code, answer=None, **options):
        def heard(message):
            buffers.extend(map(bytes, message["buffers"]))
            if message["msg_type"] == "stream":
                written.append(message["content"]["text"])

        options |= {"allow_stdin": answer is not None, "output_hook": heard, "timeout": 60}
        return client.execute_interactive(code, stdin_hook=lambda _: client.input(answer), **options)["content"]

    ask = "typed = input('secret: ')\ntk.ClientSecret('client-1', typed, environment='broker-sandbox')"
    assert run(ask, secret)["status"] == "ok"
    assert "was typed at an input() prompt" in "".join(written)
    run(SESSION.format("typed"))
    reply = run("raise KeyError(typed)")
    assert (reply["status"], reply["ename"]) == ("error", "KeyError")
    expressions = run("1", user_expressions={"typed": "typed"})
    assert "<CLIENT_SECRET>" in json.dumps(expressions["user_expressions"])
    assert secret not in "".join(written) + json.dumps([reply, expressions])

    run("image = ipywidgets.Image(value=b'\\x89PNG ' + typed.encode()); image")
    run("image.value = b'\\x89PNG plain'; image.value = bytearray(typed.encode()) + b' \\xff'")
    run(
        "kernel = get_ipython().kernel\n"
        "kernel.session.send(kernel.iopub_socket, 'stream', {'name': 'stdout', 'text': ''},"
        " kernel.get_parent(), None, [typed.encode()])"
    )
    assert buffers == [b"\x89PNG <CLIENT_SECRET>", b"\x89PNG plain", b"<CLIENT_SECRET> \xff", b"<CLIENT_SECRET>"]
