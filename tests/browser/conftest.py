"""One Chromium and one JupyterLab for all tests that a worker runs in this folder."""

from __future__ import annotations

import asyncio

import pytest
from jupyterlab_driver import Lab, browser, chromium, need_browser, notebooks_in, record

from toolkit.practice_service import practice


@pytest.fixture(scope="session")
def shared_chrome():
    """Start the browser, and the event loop that playwright runs in this thread."""
    need_browser()
    with browser(chromium()) as running:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield running, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def chrome(shared_chrome):
    """Return the browser, and hide playwright's running loop from asyncio outside the tests that use it."""
    running, loop = shared_chrome
    asyncio._set_running_loop(loop)
    yield running
    asyncio._set_running_loop(None)


@pytest.fixture
def page(chrome):
    """Return an empty page, in which an uncaught error fails the test."""
    context = chrome.new_context()
    page = context.new_page()
    page.set_default_timeout(10_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == [], errors


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Start a JupyterLab with a project file, and a cassette named "tour", in the folder of its notebooks."""
    need_browser()
    root = tmp_path_factory.mktemp("lab")
    with practice() as service:
        record(root, service, "tour")
    with Lab(root) as running:
        yield running


@pytest.fixture
def open_notebook(lab, chrome):
    """Return a function that writes a notebook and opens it in JupyterLab."""
    with notebooks_in(lab, chrome) as open_one:
        yield open_one
