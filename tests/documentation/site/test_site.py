"""The site as a reader gets it: no warning, no dead link, nothing from another host, readable on a phone."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.jupyterlab_driver import browser, chromium, need_browser
from documented_blocks import ROOT

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site with the command of the documentation, warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", folder / "doctrees"]
    command = [sys.executable, "-m", "sphinx", *map(str, options), "notebooks", str(folder / "html")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site on loopback."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """Start the browser."""
    need_browser()
    with browser(chromium()) as running:
        yield running


def requested(tab: Any) -> list[str]:
    """Return a list that fills with what the tab asks for."""
    urls: list[str] = []
    tab.on("request", lambda request: urls.append(request.url))
    return urls


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_no_page_scrolls_sideways(viewport: dict[str, int], site: Path, address: str, chrome: Any) -> None:
    """Pages fit their width, have no script error, and ask nobody but their own host."""
    tab = chrome.new_page(viewport=viewport)
    urls, errors = requested(tab), []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    wide = []
    for file in sorted(site.rglob("*.html")):
        name = file.relative_to(site).as_posix()
        tab.goto(f"{address}/{name}")
        width = tab.evaluate("document.documentElement.scrollWidth")
        if width > viewport["width"]:
            wide.append(f"{name}: {width}")
    tab.close()
    assert wide == []
    assert errors == []
    assert [url for url in urls if not url.startswith((address, "data:"))] == []


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("call refused", "how-to/understand-a-refused-call"),
        ("proxy", "how-to/behind-a-proxy"),
        ("token lifetime", "reference/calls.html#token-lifetime"),
        ("toolkit scan", "reference/command-line"),
        ("GitHub Actions", "how-to/record-in-ci"),
        ("a cell says that its recording doesn't match", "how-to/when-a-recording-does-not-match"),
        ("token requests of parallel notebooks", "how-to/many-accounts.html#one-token-for-several"),
        ("my table has too few rows", "05-all-accounts.html#too-few-rows"),
        ("20,000 symbols", "how-to/many-accounts.html#thousands-of-calls"),
        ("signed assertion", "how-to/give-your-credentials.html#sign-in-with-a-private-key"),
        ("where are my secrets saved", "how-to/on-a-shared-machine.html#where-saved-secrets"),
        ("share a notebook", "how-to/share-a-notebook"),
        ("unauthorised", "how-to/understand-a-refused-call"),
        ("What is status 599?", "how-to/understand-a-refused-call.html#what-does-599-mean"),
    ],
)
def test_search_answers(words: str, page: str, address: str, chrome: Any) -> None:
    """The first page that the search finds is the one that answers."""
    tab = chrome.new_page(viewport=DESK)
    tab.goto(f"{address}/search.html?q={words.replace(' ', '+')}")
    first = tab.wait_for_selector("#search-results li a", timeout=30_000)
    assert page in first.get_attribute("href")
    tab.close()
