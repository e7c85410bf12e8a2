from __future__ import annotations

import os

import pytest
from jupyterlab_driver import Lab, Notebook, browser, chromium

from toolkit.practice_service import practice
from toolkit.session import Session


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab of the module's own."""
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if chromium() is None:
        # The gate installs one: there, a missing browser is a failure and no reason to pass.
        assert not os.environ.get("TOOLKIT_TESTS_NEED_BROWSER"), "no Chromium"
        pytest.skip("no Chromium: set the variable CHROMIUM to its path")
    with Lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def tour(lab):
    """A cassette named "tour" in the folder of the notebooks, and a project file beside it."""
    (lab.root / "toolkit.toml").write_text("")
    path = lab.root / "cassettes" / "tour.yaml"
    with practice() as service:
        credentials = service.credentials["sandbox-secret"]
        with Session(credentials=credentials, cassette=path, settings=service.settings) as session:
            session.accounts()
    return path


@pytest.fixture(scope="module")
def chrome(lab):
    """A browser for the pages of the module; closed before asyncio is used by others."""
    with browser(chromium()) as running:
        yield running


@pytest.fixture
def open_notebook(lab, chrome):
    """Writes a notebook and opens it in a page of its own; an uncaught error of the page fails the test."""
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
    assert [error for notebook in opened for error in notebook.errors] == []
