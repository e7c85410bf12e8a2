"""Small projects whose tests use the pytest plugin: a service within the process, and a function that runs them."""

from __future__ import annotations

import sys

import pytest
import yaml

import toolkit.auth.authorizers
import toolkit.cassettes.bodies
import toolkit.scrubbing.scanning
import toolkit.session.session
import toolkit.sharing.pytest_plugin.item_cassette
import toolkit.verification  # noqa: F401 - a run within this process removes what it imports first
from toolkit.sharing.pytest_plugin import plugin

CONFTEST = """
    import itertools

    import httpx
    import pytest

    import toolkit as tk

    numbers = itertools.count(1)

    def answer(request):
        return httpx.Response(200, json={"path": request.url.path, "number": next(numbers)})

    @pytest.fixture
    def toolkit_live():
        addresses = {"trading_paper": "https://trading.example.com", "market_data": "https://data.example.com"}
        return {
            "transport": httpx.MockTransport(answer),
            "credentials": tk.KeyPair("AK" + "Q7" * 8, "s-" + "x9Z" * 12, environment="paper"),
            "settings": tk.Settings(addresses=addresses),
        }
"""
ONE_CALL = """
    def test_account(toolkit_session):
        assert toolkit_session.trading.get("/v2/account").json()["path"] == "/v2/account"
"""


@pytest.fixture
def run(pytester, monkeypatch, request):
    """Return a function that writes a test module and runs it with options; returns counts and output."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    pytester.makepyprojecttoml("[project]\nname = 'shop'\n")
    pytester.makeconftest(CONFTEST)
    # A checkout may have been installed before it had the plugin.
    loading = [] if request.config.pluginmanager.hasplugin("toolkit") else ["-p", plugin.__name__]
    quiet = [f"-pno:{name}" for name in ("cacheprovider", "xdist", "hypothesispytest", "asyncio", "pytester")]

    # Other test files of this process may have imported vcrpy, whose asserts pytest-recording wants to rewrite.
    quiet.append("-Wignore::pytest.PytestAssertRewriteWarning")

    def run(*options, **modules):
        """Write modules and run them all, with options of pytest."""
        pytester.makepyfile(**modules)
        for name in modules:
            sys.modules.pop(name, None)
        result = pytester.runpytest_inprocess(*loading, *quiet, *options)
        return result.parseoutcomes(), result.stdout.str()

    return run


@pytest.fixture
def cassettes(pytester):
    """Return the folder of the cassettes of the module test_shop."""
    return pytester.path / "cassettes" / "test_shop"


def numbers(file):
    """Return the numbers in the recorded answers of a cassette, which say when they were recorded."""
    recorded = yaml.safe_load(file.read_text())["interactions"]
    return [yaml.safe_load(each["response"]["body"]["string"])["number"] for each in recorded]


def names(folder):
    """Return the names of the files in a folder."""
    return sorted(file.name for file in folder.iterdir())
