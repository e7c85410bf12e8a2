"""The plugin beside pytest-recording, pytest-xdist, pytest-asyncio and anyio: each does in one project what it does
alone.
"""

from __future__ import annotations

import textwrap

import pytest
from plugin_projects import CONFTEST, names

pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs the tests of a project in a process of its own."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    pytester.makepyprojecttoml(
        """
        [tool.pytest.ini_options]
        addopts = ["--strict-markers"]
        asyncio_default_fixture_loop_scope = "function"
        testpaths = ["tests"]
        """
    )
    folder = pytester.mkdir("tests")

    def run(*options, **modules):
        for name, text in {"conftest": CONFTEST, **modules}.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        result = pytester.runpytest_subprocess("-pno:cacheprovider", "-pno:hypothesispytest", *options, timeout=120)
        return result.parseoutcomes(), result.stdout.str()

    return run


MIXED = """
    import httpx
    import pytest
    import requests

    import toolkit as tk

    URL = "SERVER"

    @pytest.mark.vcr
    def test_stock():
        assert requests.get(URL + "/stock").json()["path"] == "/stock"

    @pytest.mark.vcr("extra.yaml")
    def test_stock_with_extra():
        assert requests.get(URL + "/more").json()["path"] == "/more"

    @pytest.mark.block_network
    def test_their_block():
        with pytest.raises(RuntimeError, match="Network is disabled"):
            requests.get(URL)

    def test_no_block():
        assert requests.get(URL + "/live").ok

    def test_ours(toolkit_session):
        assert toolkit_session.trading.get("/v2/account").json()["path"] == "/v2/account"
        if not toolkit_session.cassette.records:
            with pytest.raises(tk.NetworkBlocked, match="may not connect to 127.0.0.1"):
                requests.get(URL)

    @pytest.mark.toolkit_cassette(allowed_hosts=["127.0.0.1"])
    def test_allowed(toolkit_session):
        toolkit_session.trading.get("/v2/account")
        assert requests.get(URL + "/live").ok

    def test_both_at_once(toolkit_cassette):
        client = httpx.Client(transport=toolkit_cassette.transport())
        assert client.get(URL + "/ours").json()["path"] == "/ours"

    @pytest.mark.parametrize("number", range(8))
    def test_many(toolkit_session, number):
        assert toolkit_session.trading.get(f"/v2/{number}").json()["path"] == f"/v2/{number}"
"""


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "xdist"])
def test_side_by_side(run, server, pytester, workers):
    """Both plugins record and replay in one project, under xdist too; each refuses only in its own tests.

    The settings of pytest allow hosts for all tests, a marker for one.
    """
    module = MIXED.replace("SERVER", server.url)
    folder = pytester.path / "tests" / "cassettes" / "test_mixed"
    counts, output = run(*workers, "--record-mode=once", "--toolkit-record", test_mixed=module)
    assert counts == {"passed": 15}, output
    assert "authorization" not in "".join(file.read_text().lower() for file in folder.iterdir())
    assert {"test_stock.yaml", "test_ours.yaml", "test_many[0].yaml"} <= set(names(folder))
    (folder / "test_gone.yaml").write_bytes((folder / "test_ours.yaml").read_bytes())
    counts, output = run(*workers, "--toolkit-unused", test_mixed=module)
    assert counts == {"passed": 15}, output
    unused = output.partition("cassettes that no test opened")[2]
    assert "tests/cassettes/test_mixed/test_gone.yaml" in unused
    assert "1 of 14 cassettes" in unused
    assert "Not all tests" not in unused
    allowed = ("-o", "toolkit_allowed_hosts=localhost")
    counts, output = run(*workers, *allowed, "--toolkit-unused", "-k", "many or ours", test_mixed=module)
    assert "Some tests did not run" in output
    assert "5 of 14 cassettes" in output
    assert "DID NOT RAISE" in output  # test_ours


ASYNC = """
    import asyncio

    import pytest

    async def calls(session):
        pages = await asyncio.gather(*(session.trading.get(f"/v2/{number}") for number in range(3)))
        return sorted(page.json()["path"] for page in pages)

    PATHS = ["/v2/0", "/v2/1", "/v2/2"]

    @pytest.mark.asyncio
    async def test_asyncio(toolkit_async_session):
        assert await calls(toolkit_async_session) == PATHS

    @pytest.mark.anyio
    async def test_anyio(toolkit_async_session):
        assert await calls(toolkit_async_session) == PATHS

    def test_own_loop(toolkit_async_session):
        async def main():
            async with toolkit_async_session:
                return await calls(toolkit_async_session)

        assert asyncio.run(main()) == PATHS
"""


def test_async(run, server):
    """An async session works with pytest-asyncio, anyio and a loop of one's own."""
    pytest.importorskip("pytest_asyncio")
    real = '"transport": httpx.MockTransport(answer),', ""
    conftest = (
        CONFTEST.replace("https://trading.example.com", server.url)
        + "\n    @pytest.fixture\n    def anyio_backend():\n        return 'asyncio'\n"
    )
    counts, output = run("--toolkit-record", conftest=conftest.replace(*real), test_async=ASYNC)
    assert counts == {"passed": 3}, output
    counts, output = run("-Werror", "-n2", conftest=conftest, test_async=ASYNC)
    assert counts == {"passed": 3}, output
