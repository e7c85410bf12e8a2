"""Recordings of a session replay in stock vcrpy and pytest-recording, and theirs replay here."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import vcr
from vcr.errors import CannotOverwriteExistingCassetteException

import toolkit as tk
from toolkit.core.document import TOKEN_PATH, symbolic_address
from toolkit.practice_service import practice

BROKER = symbolic_address("broker_sandbox")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cassette of a token request, accounts, quotes and an order."""
    path = tmp_path_factory.mktemp("recording") / "session.yaml"
    with (
        practice(accounts=2) as service,
        tk.Session(
            credentials=service.credentials["sandbox-key"], settings=service.settings, cassette=path, mode="once"
        ) as session,
    ):
        session.accounts()
        session.market_data.get("/v2/practice/quotes", params={"symbols": "ALFA"}).raise_for_status()
        order = {"symbol": "ALFA", "side": "buy", "quantity": "1"}
        session.broker.post("/v1/practice/orders", json=order).raise_for_status()
    return path


def test_stock_vcrpy_replays_a_session(recording: Path) -> None:
    """Every interaction, the token request included, answers a plain httpx client in vcrpy's context."""
    with vcr.use_cassette(str(recording), record_mode="none") as cassette:
        assert len(httpx.get(f"{BROKER}/v1/accounts").json()) == 2
        quotes = httpx.get(f"{symbolic_address('market_data_sandbox')}/v2/practice/quotes?symbols=ALFA")
        assert quotes.json()["made_up"] is True
        assert httpx.post(f"{BROKER}/v1/practice/orders", json={}).status_code in (200, 201)
        token = httpx.post(symbolic_address("auth_sandbox") + TOKEN_PATH, data={}).json()
        assert token["access_token"] == "<ACCESS_TOKEN>"
        assert cassette.all_played
        with pytest.raises(CannotOverwriteExistingCassetteException):
            httpx.get(f"{BROKER}/v1/other")


def test_stock_vcrpy_replays_a_session_to_an_async_client(recording: Path) -> None:
    """Stock vcrpy replays a session's recording to httpx.AsyncClient."""

    async def accounts() -> int:
        async with httpx.AsyncClient() as client:
            return len((await client.get(f"{BROKER}/v1/accounts")).json())

    with vcr.use_cassette(str(recording), record_mode="none"):
        assert asyncio.run(accounts()) == 2


def test_pytest_recording_replays_a_session(recording: Path, tmp_path: Path) -> None:
    """A test with pytest-recording's marker finds our cassette by its name and needs no network."""
    module = tmp_path / "test_accounts.py"
    module.write_text(
        "import httpx, pytest\n\n"
        "@pytest.mark.block_network\n"
        "@pytest.mark.vcr\n"
        "def test_accounts():\n"
        f"    assert len(httpx.get('{BROKER}/v1/accounts').json()) == 2\n",
        encoding="utf-8",
    )
    cassette = tmp_path / "cassettes" / "test_accounts" / "test_accounts.yaml"
    cassette.parent.mkdir(parents=True)
    cassette.write_bytes(recording.read_bytes())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--record-mode=none", str(module)]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "1 passed" in process.stdout
    assert cassette.read_bytes() == recording.read_bytes()


def test_what_stock_vcrpy_saved_still_replays_here(recording: Path, tmp_path: Path) -> None:
    """A cassette to which vcrpy has added, dropping our keys, still replays here."""
    path = tmp_path / "session.yaml"
    path.write_bytes(recording.read_bytes())
    with practice() as service:
        addresses = service.settings.addresses
        with vcr.use_cassette(str(path), record_mode="new_episodes"):
            httpx.get(f"{addresses['broker_sandbox']}/v1/accounts")
    session = tk.Session("broker-sandbox", cassette=path, mode="none")
    assert len(session.accounts()) == 2
    assert list(session.calls()["status"]) == [200]
    with httpx.Client(transport=tk.Cassette(path, mode="none").transport()) as client:
        assert client.get(f"{addresses['broker_sandbox']}/v1/accounts").status_code == 401


def test_what_stock_vcrpy_recorded_replays_in_a_session(tmp_path: Path) -> None:
    """A cassette that vcrpy recorded is replayed by a session that knows the addresses."""
    path = tmp_path / "foreign.yaml"
    with practice(accounts=2) as service:
        pair = service.credentials["paper"]
        assert isinstance(pair, tk.KeyPair)
        headers = {"SVC-API-KEY-ID": pair.key_id.reveal(), "SVC-API-SECRET-KEY": pair.secret_key.reveal()}
        with vcr.use_cassette(str(path), filter_headers=list(headers)):
            recorded = httpx.get(f"{service.settings.addresses['trading_paper']}/v2/account", headers=headers)
    session = tk.Session("paper", settings=service.settings, cassette=path, mode="none")
    replayed = session.trading.get("/v2/account")
    assert replayed.content == recorded.content
    assert replayed.headers.raw == [(name.lower(), value) for name, value in recorded.headers.raw]
