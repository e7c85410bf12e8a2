"""A home folder, a project and a keyring for each test, in place of the real ones."""

from __future__ import annotations

import os
import traceback

import keyring
import pytest
from key_forms import DEFAULTS, key, pem
from keyring.backends import null
from memory_keyring import MemoryKeyring

from toolkit.local.settings import Settings

ADDRESSES = {
    "trading_live": "https://trading.example.com",
    "trading_paper": "https://paper.example.com",
    "market_data": "https://data.example.com/stocks",
    "market_data_sandbox": "https://data.sandbox.example.com",
    "broker": "https://broker.example.com",
    "broker_sandbox": "https://broker.sandbox.example.com",
    "auth": "https://auth.example.com",
    "auth_sandbox": "https://auth.sandbox.example.com",
}


@pytest.fixture(autouse=True)
def no_keyring():
    """Set no keyring, as on a server."""
    before = keyring.get_keyring()
    keyring.set_keyring(null.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def memory_keyring(no_keyring):
    """Set a system keyring that works."""
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    return backend


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Give the test a home folder, and remove our variables."""
    folder = tmp_path / "home"
    folder.mkdir()
    for variable in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(variable)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setattr("platformdirs.user_config_dir", lambda name, **_: str(folder / ".config" / name))
    return folder


@pytest.fixture
def folder(home):
    """Return the folder of saved profiles, which need not exist."""
    return home / ".config" / "service-access-toolkit" / "profiles"


@pytest.fixture
def project(home, monkeypatch):
    """Return a project folder, which is the working directory."""
    folder = home / "project"
    folder.mkdir()
    (folder / "toolkit.toml").touch()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def settings(project):
    """Return settings with every address."""
    return Settings(ADDRESSES, project=project)


@pytest.fixture(scope="session")
def locals_of():
    """Return a function that finds the local variables of the toolkit's frames, as a verbose traceback shows them."""

    def find(error):
        shown = []
        while error is not None:
            for frame, _ in traceback.walk_tb(error.__traceback__):
                if frame.f_globals["__name__"].startswith("toolkit."):
                    shown.append(f"{frame.f_code.co_qualname}: {frame.f_locals!r}")
            error = error.__cause__ or error.__context__
        return shown

    return find


@pytest.fixture(scope="session")
def keys():
    """Return a private key of each kind that signs."""
    return {kind: key(kind) for kind in DEFAULTS}


@pytest.fixture(scope="session")
def key_text():
    """Return a private key as PEM text."""
    return pem(key("P-256"))
