"""A scan and a publication know the secrets of the saved credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolkit as tk
from toolkit.auth.profiles.saved import profiles_folder

WORDS = "wandering amber giraffes paint"  # nothing that a scan takes for a secret by itself
DESTINATIONS = (
    '[destinations]\ntrading_live = "https://trading.example.com"\nmarket_data = "https://data.example.com"\n'
)
PROFILE = f'key_id = "AK-obviously-fake"\nsecret_key = "{WORDS}"\n{DESTINATIONS}'
BROKEN = f'key_id = "AK-obviously-fake"\n{DESTINATIONS}'


@pytest.fixture
def profiles(project, monkeypatch):
    """Return the folder of saved profiles of a user who has a project with a note."""
    monkeypatch.chdir(project)
    monkeypatch.setattr("platformdirs.user_config_dir", lambda name, appauthor=None: str(project.parent / "config"))
    profiles_folder().mkdir(parents=True)
    (project / "note.txt").write_text(f"It says {WORDS} somewhere.\n")
    return profiles_folder()


def save(folder, name, text):
    (folder / name).write_text(text)
    (folder / name).chmod(0o600)


def test_secrets_of_saved_credentials_are_found(profiles):
    """A secret of a saved profile is a finding; a profile that does not open is named, and the scan goes on."""
    assert tk.scan("note.txt") == []
    save(profiles, "live.broken.toml", BROKEN)
    save(profiles, "live.mine.toml", PROFILE)
    with pytest.warns(UserWarning, match="live/broken, because these profiles cannot be opened"):
        (finding,) = tk.scan("note.txt")
    assert (finding.path, finding.line, finding.kind) == (Path("note.txt"), 1, "known secret, as it is")


def test_a_keyring_that_is_locked_is_asked_once(profiles):
    """Profiles that a missing or locked keyring keeps closed do not make a scan fail, and one warning names them.

    The secrets of those that are not sealed are looked for.
    """
    for name in ("live.a.toml", "live.b.toml"):
        save(profiles, name, 'kind = "key pair"\nsealed = "obviously not"\n')
    with pytest.warns(UserWarning, match=r"secrets of live/a, live/b, because .* cannot be opened") as caught:
        assert tk.scan("note.txt") == []
    assert len(caught) == 1
    save(profiles, "live.mine.toml", PROFILE)
    with pytest.warns(UserWarning, match="cannot be opened") as caught:
        assert len(tk.scan("note.txt")) == len(caught) == 1
