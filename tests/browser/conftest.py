from __future__ import annotations

import pytest
from jupyterlab_driver import Lab, browser, chromium, need_browser, notebooks_in

from toolkit.practice_service import practice
from toolkit.session.session import Session


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab of the module's own."""
    need_browser()
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
def chrome():
    """A browser for the pages of the module; closed before asyncio is used by others."""
    need_browser()
    with browser(chromium()) as running:
        yield running


@pytest.fixture
def open_notebook(lab, chrome):
    """Writes a notebook and opens it in JupyterLab."""
    with notebooks_in(lab, chrome) as open_one:
        yield open_one
