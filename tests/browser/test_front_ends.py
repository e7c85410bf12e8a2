"""The panel works in other front ends than JupyterLab: Notebook 7, and Voila with its visitors."""

from __future__ import annotations

import contextlib
import secrets
import socket
from types import SimpleNamespace

import pytest
from jupyterlab_driver import Lab, need_browser, notebooks_in, record
from panel_driver import CONNECTED, alert, choose, connect, emptied, status

from toolkit.practice_service import practice

REPLAY = ("import toolkit as tk\npanel = tk.panel(cassette='tour')\npanel", "len(panel.session.accounts())")
OWNERS = {
    "TOOLKIT_BROKER_SANDBOX__OWNERSDESK_CLIENT_ID": "owners-client-id",
    "TOOLKIT_BROKER_SANDBOX__OWNERSDESK_CLIENT_SECRET": "owners-client-secret",
}
# Errors of Notebook 7 with any notebook: the first from 7.6 on, the second in 7.3.
_UNDEFINED = "Cannot read properties of undefined (reading '{}')"
ERRORS_OF_NOTEBOOK_7 = {_UNDEFINED.format(name) for name in ("schema", "last_modified")}
_PATIENCE = 60  # seconds


class Notebook7(Lab):
    """A Jupyter Notebook 7 in place of JupyterLab; it has the same commands."""

    def __enter__(self):
        options = ("--ServerApp.ip=127.0.0.1", "--JupyterNotebookApp.expose_app_in_browser=1")
        self._start("notebook", "--allow-root", *options)
        self._wait_for_url()
        return self

    def address(self, name):
        return f"{self._url}notebooks/{name}?token={self._token}"


class Voila(Lab):
    """A Voila that shows the notebooks of a folder to visitors, in kernels that have the owner's credentials.

    The kernel of "waiting.ipynb" is started ahead of its visitor.
    """

    def __init__(self, root, service):
        super().__init__(root)
        self._variables = {f"TOOLKIT_{name.upper()}_URL": url for name, url in service.settings.addresses.items()}

    def __enter__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}/"
        later = [f"--VoilaKernelManager.preheat_denylist={name}.ipynb" for name in ("replay", "live")]
        options = ("--preheat_kernel=True", "--VoilaKernelManager.fill_delay=600", *later)
        self._start("voila", f"--port={port}", *options, str(self.root), **OWNERS, **self._variables)

        def answers():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                return True
            return False

        self._wait_until(answers)
        return self

    def address(self, name):
        return f"{self._url}voila/render/{name}"


@pytest.fixture(scope="module")
def service():
    with practice() as running:
        yield running


@pytest.fixture(scope="module")
def notebook7(tmp_path_factory, service):
    need_browser("notebook", "axe-playwright-python")
    root = tmp_path_factory.mktemp("notebook7")
    record(root, service, "tour", "merger")  # no notebook names the second
    with Notebook7(root) as running:
        yield running


@pytest.fixture(scope="module")
def voila(tmp_path_factory, service):
    need_browser("voila", "axe-playwright-python")
    root = tmp_path_factory.mktemp("voila")
    record(root, service, "tour", "merger")  # no notebook names the second
    server, panel = Voila(root, service), "import toolkit as tk\ntk.panel('broker-sandbox'{})"
    server.write_notebook("replay.ipynb", *REPLAY)
    server.write_notebook("live.ipynb", panel.format(""))
    server.write_notebook("waiting.ipynb", panel.format(", 'ownersdesk', cassette='missing'"))
    with server:
        yield server


@pytest.fixture
def open_notebook(notebook7, chrome):
    """Return a function that writes a notebook and opens it in Notebook 7."""
    with notebooks_in(notebook7, chrome, errors_of_its_own=ERRORS_OF_NOTEBOOK_7) as open_one:
        yield open_one


@pytest.fixture
def visit(voila, chrome):
    """Return a function that opens a notebook as a visitor of Voila."""
    opened = []

    def visit_one(address):
        page = chrome.new_context(viewport={"width": 1200, "height": 900}).new_page()
        page.set_default_timeout(_PATIENCE * 500)
        opened.append(SimpleNamespace(page=page, panel=page.locator(".toolkit-panel")))
        page.goto(voila.address(address))
        opened[-1].panel.get_by_role("status").first.wait_for()
        return opened[-1]

    yield visit_one
    for visitor in opened:
        visitor.page.context.close()


def choices(notebook, control):
    """Return the options of a dropdown, with ordinary spaces in place of non-breaking ones."""
    options = notebook.panel.get_by_label(control, exact=True).locator("option").all_inner_texts()
    return [option.replace("\xa0", " ") for option in options]


def type_a_wrong_secret(notebook):
    """Type a wrong secret, and check that it is refused beside its field and emptied."""
    notebook.panel.get_by_label("Client ID").fill("practice-sandbox-secret")
    notebook.panel.get_by_label("Client secret").fill(secrets.token_hex(20))
    connect(notebook)
    alert(notebook, "refused the credentials: status 401")
    emptied(notebook.panel.get_by_label("Client secret"))


def hard_to_read(notebook):
    """Return the texts of the panel with too little contrast, as axe-core judges them."""
    from axe_playwright_python.sync_playwright import Axe

    found = (
        Axe()
        .run(notebook.page, context={"include": [[".toolkit-panel"]]}, options={"runOnly": ["color-contrast"]})
        .response
    )
    assert found["passes"], "nothing was looked at"
    return [f"{node['html']}: {node['failureSummary']}" for rule in found["violations"] for node in rule["nodes"]]


def test_a_replay_runs_from_top_to_bottom_and_outlives_a_reload_in_notebook_7(open_notebook):
    """Notebook 7 shows the panel of a replay once, without the words that replace it, also after a reload."""
    notebook = open_notebook("replay.ipynb", *REPLAY)
    notebook.run_all()
    assert notebook.save().cells[1].outputs[0]["data"]["text/plain"] == "25"
    for is_reloaded in (False, True):
        if is_reloaded:
            notebook.open()
        status(notebook, "Replaying tour.yaml. Nothing is sent")
        notebook.panel.get_by_text("2 calls").wait_for()
        assert notebook.page.locator(".toolkit-panel").count() == 1
        assert not notebook.page.get_by_text("run this cell again").is_visible()


def test_a_replay_runs_from_top_to_bottom_in_voila(visit, voila):
    """In Voila only the named recording can be replayed, and nothing that belongs to the owner is shown."""
    visitor = visit("replay.ipynb")
    status(visitor, "Replaying tour.yaml. Nothing is sent, and no credentials are needed.")
    visitor.page.locator(".jp-OutputArea-output", has_text="25").last.wait_for()
    assert choices(visitor, "Cassette") == ["tour"]
    assert choices(visitor, "Mode") == ["call the service", "replay · nothing is sent"]
    choose(visitor, "Mode", "call the service")
    visitor.panel.get_by_label("Client ID").wait_for()
    check_nothing_of_the_owners_is_shown(visitor, voila)


def test_the_first_visitor_of_voila_is_not_the_owner_either(visit, voila):
    """A kernel that Voila starts ahead of its visitor is not the owner's."""
    visitor = visit("waiting.ipynb")
    alert(visitor, "are not offered to visitors")
    check_nothing_of_the_owners_is_shown(visitor, voila)
    choose(visitor, "Mode", "replay · nothing is sent")
    visitor.panel.get_by_label("Client ID").wait_for(state="detached")
    connect(visitor)
    alert(visitor, "This page is not set up for these choices.")


def test_visitors_of_voila_connect_with_their_own(visit, voila, service):
    """Visitors of Voila connect with their own credentials; a refused secret is reported beside its field."""
    visitor = visit("live.ipynb?theme=dark")
    type_a_wrong_secret(visitor)
    check_nothing_of_the_owners_is_shown(visitor, voila)
    assert hard_to_read(visitor) == []
    secret = visitor.panel.get_by_label("Client secret")
    secret.fill(service.credentials["sandbox-secret"].client_secret.reveal())
    secret.press("Enter")
    status(visitor, f"{CONNECTED} and shows 25 accounts.")


def check_nothing_of_the_owners_is_shown(visitor, voila):
    """Check that only new credentials can be chosen, and that the page and its markup hold nothing of the owner's."""
    assert choices(visitor, "Credentials") == ["new client secret …", "new client key …"]
    page = visitor.page.content()
    owners = ["merger", str(voila.root), *OWNERS.values()]
    assert [text for text in owners if text in page] == []
