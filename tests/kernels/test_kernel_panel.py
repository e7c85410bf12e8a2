"""A notebook that asks for secrets while it is executed does not store them, nor do logs and history."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from pathlib import Path

import nbclient
import nbformat
from canaries import assert_absent, files_with
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from nbconvert import HTMLExporter

import toolkit
from toolkit.practice_service import practice


def test_nothing_that_is_asked_for_reaches_an_executed_notebook(tmp_path, monkeypatch, caplog):
    """Secrets asked for below the cell are not in the executed notebook, whose widget state is stored."""
    root, key_file = tmp_path / "notebooks", tmp_path / "key.pem"
    root.mkdir()
    profile = root / ".ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 10\n")
    planted, passphrase = secrets.token_hex(20), secrets.token_hex(20)
    caplog.set_level("DEBUG")
    with practice() as service:
        paper, key, secret = (service.credentials[name] for name in ("paper", "sandbox-key", "sandbox-secret"))
        pem = f"-----BEGIN PRIVATE KEY-----\n{key.secrets()[0][1].reveal()}\n-----END PRIVATE KEY-----\n"
        loaded = load_pem_private_key(pem.encode(), None)
        encrypted = pem_of(loaded, BestAvailableEncryption(passphrase.encode()))
        key_file.write_text(encrypted)
        answers = [
            *(paper.key_id.reveal(), paper.secret_key.reveal()),
            *(secret.client_id, secret.client_secret.reveal()),
            *(key.client_id, pem_of(loaded), ""),
            *(key.client_id, str(key_file), passphrase),
        ]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in ASKING])
        for name, address in service.settings.addresses.items():
            monkeypatch.setenv(f"TOOLKIT_{name.upper()}_URL", address)
        monkeypatch.setenv("IPYTHONDIR", str(root / ".ipython"))
        monkeypatch.setenv("PYTHONPATH", str(Path(toolkit.__file__).parents[1]))
        monkeypatch.setenv("PLANTED", planted)
        with (root / "kernel.log").open("wb") as log:
            execute(notebook, root, answers, stderr=log)
    assert answers == []
    nbformat.write(notebook, root / "executed.ipynb")
    html, _ = HTMLExporter().from_notebook_node(notebook)
    (root / "executed.html").write_text(html)
    (root / "nbclient.log").write_text(caplog.text)
    assert {Path("executed.ipynb"), Path("executed.html")} <= {*files_with(root, planted)}
    assert "MESSAGE TYPE:execute_request" in (root / "kernel.log").read_text()
    names = ("paper", "sandbox-secret", "sandbox-key")
    typed = [text.reveal() for name in names for _, text in service.credentials[name].secrets()]
    assert_absent(root, [*typed, passphrase, pem_of(loaded), encrypted], layers=0)


ASKING = [
    "import toolkit as tk\npanel = tk.panel('paper')\npanel",
    "len(panel.connect().accounts())",
    "other = tk.panel('broker-sandbox')\nother",
    "len(other.connect().accounts())",
    "pasted = tk.panel('broker-sandbox')\npasted._form._credentials.index = 1\npasted",
    "len(pasted.connect().accounts())",
    "chosen = tk.panel('broker-sandbox')\nchosen._form._credentials.index = 1\nchosen",
    "len(chosen.connect().accounts())",
    "import ipywidgets, os\nipywidgets.Password(os.environ['PLANTED'])",
]


def execute(notebook, folder, answers, **options):
    """Execute a notebook, and answer its questions in this order."""
    tasks = []

    async def answer():
        while True:
            await client.kc.get_stdin_msg(timeout=None)
            client.kc.input(answers.pop(0))

    async def start(**_):
        client.kc.allow_stdin = True
        tasks.append(asyncio.ensure_future(answer()))

    async def stop(**_):
        tasks[0].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await tasks[0]

    client = nbclient.NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=60,
        resources={"metadata": {"path": str(folder)}},
        on_notebook_start=start,
        on_notebook_complete=stop,
    )
    client.execute(env=dict(os.environ), **options)


def pem_of(key, encryption=None):
    """Return a private key as text."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()).decode()
