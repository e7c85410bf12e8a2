"""A JupyterLab on this machine's loopback, and a headless Chromium that shows it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

import toolkit

_CHROMIUM = "/usr/bin/chromium"
_CHROMIUM_ARGUMENTS = [
    "--no-sandbox",  # a container has none; nothing but our own pages is opened
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
_SETTINGS = {
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/apputils-extension/themes": {"theme": "JupyterLab Light"},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False, "autosaveInterval": 1},  # in seconds, once it is on
}
CANCELED = "Error: Canceled future for"  # JupyterLab's own: a restart may cancel what it asked the kernel
_PATIENCE = 60  # seconds; for a machine that is busy with other things


def chromium():
    """Return the path of Chromium, or None: the variable CHROMIUM, else the usual place, else the search path."""
    path = os.environ.get("CHROMIUM")
    if path:
        return path if Path(path).exists() else None
    return _CHROMIUM if Path(_CHROMIUM).exists() else shutil.which("chromium")


def need_browser(*packages):
    """Skip if a package or the browser is missing; in the gate, which installs them, fail."""
    missing = [] if chromium() else ["Chromium (the variable CHROMIUM may hold its path)"]
    for name in ("jupyterlab", "playwright", *packages):
        try:
            version(name)  # importing would find the folder tests/notebook
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        assert not os.environ.get("TOOLKIT_TESTS_NEED_BROWSER"), f"missing: {missing}"
        pytest.skip(f"missing: {', '.join(missing)}")


def record(root, service, *names):
    """Make a project of a folder, and record the accounts of a practice service in cassettes of these names."""
    (root / "toolkit.toml").write_text("")
    for name in names:
        credentials, path = service.credentials["sandbox-secret"], root / "cassettes" / f"{name}.yaml"
        with toolkit.Session(credentials=credentials, cassette=path, settings=service.settings) as session:
            session.accounts()


class Lab:
    """A JupyterLab whose files, settings and history are all below one folder; a context manager.

    Kernels log at DEBUG, so that what they log can be searched as well.

    Attributes:
        root: the folder that is served, and below which everything is written.
    """

    def __init__(self, root):
        self.root = root
        self._home = root / ".home"
        self._token = secrets.token_hex(16)
        self._process = None
        self._url = ""
        for name, values in _SETTINGS.items():
            file = self._home / "settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        profile = self._home / "ipython" / "profile_default"
        profile.mkdir(parents=True)
        (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 10\n")

    def __enter__(self):
        self._start(
            "jupyterlab",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.root_dir={self.root}",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.news_url=",
        )
        self._wait_for_url()
        return self

    def __exit__(self, *_):
        self._stop()

    @property
    def log(self):
        """The log of the server and its kernels."""
        return self._home / "lab.log"

    def write_notebook(self, name, *cells):
        """Write a notebook of code cells."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.root / name)

    def trust(self, name):
        """Sign a notebook, as `jupyter trust` does."""
        notary = NotebookNotary(data_dir=str(self._home / "data"))
        notary.sign(nbformat.read(self.root / name, as_version=4))

    def address(self, name):
        return f"{self._url}lab/tree/{name}?reset&token={self._token}"

    def _environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLKIT_", "JUPYTER"))}
        folders = {
            "HOME": ".",
            "XDG_CONFIG_HOME": "config",
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "jupyter",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        return {
            **kept,
            **{name: str(self._home / folder) for name, folder in folders.items()},
            "JUPYTER_TOKEN": self._token,
            "PYTHONPATH": str(Path(toolkit.__file__).parents[1]),
        }

    def _start(self, module, *options, **variables):
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, "--no-browser", *options],
                env=self._environment() | variables,
                cwd=self.root,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for_url(self):
        def has_url():
            for file in (self._home / "runtime").glob("jpserver-*.json"):
                with contextlib.suppress(ValueError):  # half written
                    self._url = json.loads(file.read_text())["url"]
            return self._url

        self._wait_until(has_url)

    def _wait_until(self, is_ready):
        """Wait for the server; if it does not start, stop it and raise with the end of its log."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            if is_ready():
                return
            time.sleep(0.1)
        self._stop()
        raise RuntimeError(f"The server did not start:\n{self.log.read_text()[-2000:]}")

    def _stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Notebook:
    """A notebook open in a page of JupyterLab.

    Attributes:
        page: the playwright page.
        errors: uncaught errors of the page.
    """

    def __init__(self, lab, page, name):
        self.lab, self.page, self.name = lab, page, name
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.set_default_timeout(_PATIENCE * 500)

    @property
    def panel(self):
        """The last panel in the notebook."""
        return self.page.locator(".toolkit-panel").last

    def open(self):
        """Open, or reload, and wait for the kernel."""
        self.page.goto(self.lab.address(self.name))
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function("() => !!window.jupyterapp")
        self.page.evaluate("async () => { await window.jupyterapp.restored }")
        self._wait_for_kernel()

    def run_all(self):
        """Run every cell, and wait until the kernel is idle."""
        self.command("notebook:run-all-cells")
        self._wait_for_kernel()

    def save(self):
        """Save with widget state, and return the notebook as it is on disk."""
        self.command("docmanager:save")
        return nbformat.read(self.lab.root / self.name, as_version=4)

    def autosave(self):
        """Change the notebook, and let JupyterLab's autosave write it."""
        file = self.lab.root / self.name
        before = file.stat().st_mtime_ns
        self.command("notebook:insert-cell-below")
        self.command("docmanager:toggle-autosave")
        self.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
        self.command("docmanager:toggle-autosave")
        assert file.stat().st_mtime_ns > before

    def command(self, name, arguments=None):
        """Execute a command of JupyterLab and wait for its end."""
        self.page.evaluate(
            "async ([name, given]) => { await window.jupyterapp.commands.execute(name, given) }",
            [name, arguments or {}],
        )

    def restart_kernel(self):
        """Restart the kernel at once, without the question that JupyterLab's command asks."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()"
        )

    def kernel(self, code):
        """Run code in the kernel, outside of cells and history, and return what it prints."""
        return self.page.evaluate(
            """async (code) => {
              const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
              let printed = "";
              const future = kernel.requestExecute({ code, silent: true, store_history: false });
              future.onIOPub = ({ header, content }) => {
                if (header.msg_type === "stream") printed += content.text;
                if (header.msg_type === "error") printed += content.evalue;
              };
              await future.done;
              return printed;
            }""",
            code,
        )

    def _wait_for_kernel(self):
        self.page.wait_for_function(
            """() => {
              const context = window.jupyterapp.shell.currentWidget?.context;
              const kernel = context?.sessionContext.session?.kernel;
              return kernel?.connectionStatus === "connected" && kernel.status === "idle";
            }"""
        )


@contextlib.contextmanager
def browser(executable):
    """Start a headless Chromium that reaches nothing but this machine."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, headless=True, args=_CHROMIUM_ARGUMENTS)
        try:
            yield running
        finally:
            running.close()


@contextlib.contextmanager
def notebooks_in(lab, chrome, *, errors_of_its_own=()):
    """Provide a function that writes a notebook and opens it; uncaught errors in its page fail the test.

    Args:
        lab: the server.
        chrome: the browser.
        errors_of_its_own: texts of errors that the front end itself causes.
    """
    opened = []

    def open_one(name, *cells):
        lab.write_notebook(name, *cells)
        context = chrome.new_context(viewport={"width": 1200, "height": 900})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        opened.append(Notebook(lab, context.new_page(), name))
        opened[-1].open()
        return opened[-1]

    yield open_one
    for notebook in opened:
        notebook.command("kernelmenu:shutdown")
        notebook.page.context.close()
    errors = [error for notebook in opened for error in notebook.errors if error not in errors_of_its_own]
    errors = [error for error in errors if not error.startswith(CANCELED)]
    assert errors == [], errors
