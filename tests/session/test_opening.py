"""Opening a session: its cassette, environment, credentials and rules."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

import toolkit as tk


@pytest.fixture
def path(open_session, tmp_path):
    """A cassette with one accounts call of a sandbox partner."""
    path = tmp_path / "recorded.yaml"
    with open_session(cassette=path) as session:
        session.broker.get("/v1/accounts")
    return path


@pytest.mark.parametrize("mode", ["new_episodes", "all"])
def test_a_cassette_does_not_choose_where_calls_go(path, mode):
    """With a mode that may send, the environment comes from the caller."""
    with pytest.raises(tk.ConfigurationError, match="must be given an environment") as caught:
        tk.Session(cassette=path, mode=mode, settings=tk.Settings())
    assert caught.value.about == "environment"


def test_new_episodes_without_address_or_credentials(path, settings, make_credentials):
    """A recorded call needs neither; any other says which of the two is missing. Nothing is written."""
    before = path.read_bytes()
    for message, options in (
        ("address", {"credentials": make_credentials("broker-sandbox"), "settings": tk.Settings()}),
        ("credentials", {"settings": settings}),
    ):
        session = tk.Session("broker-sandbox", cassette=path, mode="new_episodes", **options)
        assert session.broker.get("/v1/accounts").status_code == 200
        with pytest.raises(tk.ConfigurationError, match=message):
            session.accounts(limit=1)
    assert path.read_bytes() == before


def test_missing_cassette(path):
    """Without an environment, the error for a missing cassette names the file."""
    settings = tk.Settings(cassettes=path.parent)
    with pytest.raises(tk.ConfigurationError, match=r"absent\.yaml does not exist"):
        tk.Session(cassette=path.with_name("absent.yaml"), settings=settings)
    for misspelt in (path.with_name("recroded.yaml"), "recroded"):
        with pytest.raises(tk.ConfigurationError, match=r"recroded\.yaml does not exist") as caught:
            tk.Session(cassette=misspelt, settings=settings)
        assert "pass an environment (live, paper, " in caught.value.next_step
    with pytest.raises(tk.ConfigurationError, match="does not exist") as caught:
        tk.Session(cassette=path.parent / "elsewhere" / "recorded.yaml", settings=settings)
    assert 'pass "recorded"' in caught.value.next_step


def test_rules_of_the_project(tmp_path, monkeypatch):
    """The rules in toolkit.toml hold for every recording of the project, with a session and without; or are refused."""
    (tmp_path / "toolkit.toml").write_text('[scrubbing]\nnames = ["nickname"]\n')
    monkeypatch.chdir(tmp_path)
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json={"nickname": "QXZ-of-somebody"}))
    with tk.Cassette("plain", "once") as cassette, httpx.Client(transport=cassette.transport(answer)) as client:
        assert client.get("https://one.example.com/").json() == {"nickname": "QXZ-of-somebody"}
    settings = replace(tk.Settings.load(), addresses={"trading_paper": "https://one.example.com"})
    pair = tk.KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper")
    with tk.Session(credentials=pair, settings=settings, transport=answer, cassette="session") as session:
        session.trading.get("/v2/account")
    written = [file.read_text() for file in (tmp_path / "cassettes").glob("*.yaml")]
    assert len(written) == 2
    assert all("<NICKNAME>" in text and "QXZ" not in text for text in written)
    (tmp_path / "toolkit.toml").write_text('[scrubbing]\npatterns = ["("]\n')
    with pytest.raises(tk.ConfigurationError, match=r"toolkit\.toml"):
        tk.Cassette("plain", "once")
