"""A folder of profiles, a project and a keyring for each test, in place of the real ones."""

from __future__ import annotations

import os

import keyring
import pytest
from keyring.backends import null
from memory_keyring import MemoryKeyring

from toolkit.local.folders import config_folder
from toolkit.local.settings import Settings


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
def _no_variables(home, monkeypatch):
    for variable in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(variable)


@pytest.fixture
def folder():
    """Return the folder of saved profiles, which need not exist."""
    return config_folder() / "profiles"


@pytest.fixture
def project(project, monkeypatch):
    """Return a project folder, which is the working directory."""
    (project / "toolkit.toml").touch()
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def settings(settings, project):
    """Return settings with every address."""
    return Settings(settings.addresses, project=project)
