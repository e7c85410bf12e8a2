"""Opening a session: which cassette, whose environment, whose credentials."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import toolkit as tk
from toolkit.practice_service import PracticeService, practice


@pytest.fixture
def service() -> Iterator[PracticeService]:
    """A practice service with two accounts."""
    with practice(accounts=2) as running:
        yield running


@pytest.fixture
def path(service: PracticeService, tmp_path: Path) -> Path:
    """A cassette with one accounts call of the sandbox partner."""
    path = tmp_path / "recorded.yaml"
    with tk.Session(
        credentials=service.credentials["sandbox-secret"], settings=service.settings, cassette=path
    ) as session:
        session.accounts()
    return path


def test_new_episodes_replays_what_is_recorded_with_nothing_configured(path: Path) -> None:
    """Neither environment nor credentials nor address are needed for a call that is in the cassette."""
    before = path.read_bytes()
    session = tk.Session(cassette=path, mode="new_episodes", settings=tk.Settings())
    assert session.environment is tk.Environment.BROKER_SANDBOX
    assert len(session.accounts()) == 2
    assert path.read_bytes() == before


def test_new_episodes_says_what_an_unrecorded_call_needs(path: Path, service: PracticeService) -> None:
    """Without the address, or without credentials, the call is refused in words, and nothing is written."""
    before = path.read_bytes()
    credentials = service.credentials["sandbox-secret"]
    for session, words in (
        (tk.Session(credentials=credentials, cassette=path, mode="new_episodes", settings=tk.Settings()), "address"),
        (tk.Session(cassette=path, mode="new_episodes", settings=service.settings), "credentials"),
    ):
        with pytest.raises(tk.ConfigurationError, match=words):
            session.accounts(limit=1)
    assert path.read_bytes() == before


def test_what_is_no_cassette_is_refused_in_words() -> None:
    """A number in the place of a cassette is an error that says what to give."""
    with pytest.raises(tk.ConfigurationError, match="not int"):
        tk.Session("paper", cassette=5)  # type: ignore[arg-type]


def test_a_missing_cassette_is_named(tmp_path: Path) -> None:
    """Without an environment there is nothing to record with: the message says which file was looked for."""
    with pytest.raises(tk.ConfigurationError, match=r"no cassette .*absent\.yaml"):
        tk.Session(cassette=tmp_path / "absent.yaml", settings=tk.Settings())


def test_a_misspelt_cassette_is_told_what_is_nearly_called_so(path: Path) -> None:
    """Before anything about recording: what was meant may be a name away, or in the folder of cassettes."""
    with pytest.raises(
        tk.ConfigurationError, match=r"no cassette .*recroded\.yaml\. In that folder is recorded\.yaml\."
    ) as caught:
        tk.Session(cassette=path.with_name("recroded.yaml"), settings=tk.Settings())
    assert caught.value.next_step.startswith("Check the name, or give one of live, paper, ")
    settings = tk.Settings(cassettes=path.parent)
    with pytest.raises(tk.ConfigurationError, match=r"In that folder is recorded\.yaml") as caught:
        tk.Session(cassette="recroded", settings=settings)
    with pytest.raises(tk.ConfigurationError, match="no cassette") as caught:
        tk.Session(cassette=path.parent / "elsewhere" / "recorded.yaml", settings=settings)
    assert 'give the name "recorded"' in caught.value.next_step


def test_a_recording_without_an_environment_lacks_only_that(path: Path) -> None:
    """With mode `all` no file is missing, and live none is named: the environment is what to give."""
    for given, words in (
        ({"cassette": path, "mode": "all"}, "To record, the session"),
        ({}, "To call live, the session"),
    ):
        with pytest.raises(tk.ConfigurationError, match=words) as caught:
            tk.Session(settings=tk.Settings(), **given)  # type: ignore[arg-type]
        assert caught.value.next_step.startswith("Give one of live, paper, ")


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # of the session that is dropped
def test_opening_anew_takes_over_a_recording_of_this_process(path: Path, service: PracticeService) -> None:
    """A cell that records with mode `all` runs again: no false alarm, and the last recording is the one that stays."""
    credentials = service.credentials["sandbox-secret"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for limit in (1, 2):
            session = tk.Session(credentials=credentials, settings=service.settings, cassette=path, mode="all")
            session.accounts(limit=limit)
        session.close()
    replayed = tk.Session(cassette=path, mode="none", settings=tk.Settings())
    assert len(replayed.accounts(limit=2)) == 2
    with pytest.raises(tk.CassetteMiss):
        replayed.accounts(limit=1)
    assert not path.with_name("recorded.part.yaml").exists()


def test_a_replayed_error_says_that_it_is_an_old_one(service: PracticeService, tmp_path: Path) -> None:
    """Long after the service is well again, an error in a recording is not mistaken for a live one."""
    path = tmp_path / "refused.yaml"
    service.faults.inject("interfaces", 503)
    with (
        tk.Session(
            credentials=service.credentials["sandbox-secret"], settings=service.settings, cassette=path
        ) as session,
        pytest.raises(tk.ServiceError) as live,
    ):
        session.accounts()
    with pytest.raises(tk.ServiceError, match=r"replayed from refused\.yaml") as replayed:
        tk.Session(cassette=path, mode="none").accounts()
    assert replayed.value.status == live.value.status == 503
    assert "replayed" not in str(live.value)


def test_the_projects_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What toolkit.toml wants scrubbed is scrubbed from every recording of the project, with a session and without."""
    (tmp_path / "toolkit.toml").write_text('[scrubbing]\nnames = ["nickname"]\n')
    monkeypatch.chdir(tmp_path)
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json={"nickname": "QXZ-of-somebody"}))
    with tk.Cassette("plain", "once") as cassette, httpx.Client(transport=cassette.transport(answer)) as client:
        assert client.get("https://one.example.com/").json() == {"nickname": "QXZ-of-somebody"}
    settings = tk.Settings.load()
    pair = tk.KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper")
    settings = replace(settings, addresses={"trading_paper": "https://one.example.com"})
    with tk.Session(credentials=pair, settings=settings, transport=answer, cassette="session") as session:
        session.trading.get("/v2/account")
    written = [file.read_text() for file in (tmp_path / "cassettes").glob("*.yaml")]
    assert len(written) == 2
    assert all("<NICKNAME>" in text and "QXZ" not in text for text in written)


def test_a_projects_rule_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that cannot be followed is an error before anything is recorded, and says where it stands."""
    (tmp_path / "toolkit.toml").write_text('[scrubbing]\npatterns = ["("]\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tk.ConfigurationError, match=r"toolkit\.toml"):
        tk.Cassette("plain", "once")
