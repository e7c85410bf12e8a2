from __future__ import annotations

import os
import warnings
from pathlib import Path

import platformdirs
import pytest

from toolkit.auth.credentials import KeyPair
from toolkit.auth.profiles.saved import delete, is_open_to_others, profiles_folder, saved_profiles, write
from toolkit.auth.profiles.saving import load_credentials, save_credentials, saved_credentials
from toolkit.core.errors import ConfigurationError, UnsafeAddress

ORIGINS = '[origins]\ntrading_live = "https://trading.example.com"\nmarket_data = "https://data.example.com"\n'


def write_profile(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_folder(monkeypatch, home):
    """The folder is below the user's own configuration folder, and looking for it makes none."""
    assert profiles_folder() == Path(platformdirs.user_config_dir("service-access-toolkit")) / "profiles"
    assert saved_profiles() == []
    assert list(home.iterdir()) == []


def test_written_by_hand(settings, home, folder, keys, key_text):
    """A person may write a file that names the file of a key; it is bound like any other."""
    (home / "key.pem").write_text(key_text)
    text = 'client_id = "c"\nprivate_key_file = "~/key.pem"\n[origins]\n'
    write_profile(folder, "broker-live.mine.toml", text)
    with pytest.raises(ConfigurationError, match="does not say with which addresses"):
        load_credentials("broker-live", settings=settings)
    origins = "\n".join(f'{name} = "{settings.addresses[name]}"' for name in ("auth", "broker", "market_data"))
    write_profile(folder, "broker-live.mine.toml", text + origins)
    credentials = load_credentials("broker-live", settings=settings)
    assert (credentials.name, credentials.kind) == ("mine", "client key")
    write_profile(folder, "broker-live.mine.toml", text + origins.replace("auth.example.com", "auth.example.org"))
    with pytest.raises(UnsafeAddress, match=r"https://auth\.example\.org"):
        load_credentials("broker-live", settings=settings)


def test_other_files(folder, settings):
    """Other files in the folder are left alone."""
    for name in ("live.toml", "live..toml.bak", "staging.a.toml", "live.a.txt", ".live.a.part", "live.", "README"):
        write_profile(folder, name, "hush")
    assert saved_credentials(settings=settings) == []


def test_hand_written_name(folder, settings):
    """A file whose name is no profile name is refused when it is asked for."""
    write_profile(folder, "live.a b.toml", f'key_id = "k"\nsecret_key = "s"\n{ORIGINS}')
    with pytest.raises(ConfigurationError, match="profile name"):
        load_credentials("live", "a b", settings=settings)


def test_marker_copied_to_another_profile(memory_keyring, settings, folder):
    """A marker opens the entry of its own profile only, not when it is copied under another name."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    write_profile(folder, "paper.a.toml", (folder / "live.a.toml").read_text())
    with pytest.raises(ConfigurationError, match="no longer has them"):
        load_credentials("paper", settings=settings)


def test_marker_in_the_keyring(memory_keyring, settings, folder):
    """A keyring entry that is itself a marker is no profile, and is not followed."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    (place,) = memory_keyring.entries
    memory_keyring.entries[place] = (folder / "live.a.toml").read_text()
    with pytest.raises(ConfigurationError, match="is no profile"):
        load_credentials("live", settings=settings)
    memory_keyring.entries[place] = "hush"
    with pytest.raises(ConfigurationError, match="not valid TOML") as caught:
        load_credentials("live", settings=settings)
    assert "hush" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_open_to_others(settings, folder):
    """A file with credentials that others may read is warned of, by name."""
    file = write_profile(folder, "live.a.toml", f'key_id = "k"\nsecret_key = "s"\n{ORIGINS}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_credentials("live", settings=settings)
    file.chmod(0o640)
    with pytest.warns(UserWarning, match=r"Others .*live\.a\.toml.*chmod 600"):
        load_credentials("live", settings=settings)


def test_open_to_nobody(folder):
    """A file that is gone since it was read is open to nobody."""
    assert not is_open_to_others(folder / "gone")


def test_write(folder):
    """A file is written whole, and replaced whole."""
    file = folder / "live.a.toml"
    write(file, "one\n")
    write(file, "zwei ü\n")
    assert file.read_bytes() == "zwei ü\n".encode()
    assert list(folder.iterdir()) == [file]


def test_write_not_through_a_link(home, folder):
    """A link in place of the file or of its folders is refused, and what it leads to stays as it was."""
    victim = home / "victim"
    victim.write_text("mine")
    folder.mkdir(parents=True)
    (folder / "live.a.toml").symlink_to(victim)
    with pytest.raises(ConfigurationError, match="is a link"):
        write(folder / "live.a.toml", "hush")
    assert victim.read_text() == "mine"
    (folder / "live.a.toml").unlink()
    for linked in (folder, folder.parent):
        elsewhere = home / f"elsewhere-{linked.name}"
        linked.rename(elsewhere)
        linked.symlink_to(elsewhere)
        with pytest.raises(ConfigurationError, match="is a link"):
            write(folder / "live.a.toml", "hush")
        assert [file for file in elsewhere.rglob("*") if file.is_file()] == []
        linked.unlink()
        elsewhere.rename(linked)


def test_write_fails(folder, monkeypatch):
    """When the disk fails, the old file stays, and nothing else."""
    file = folder / "live.a.toml"
    write(file, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConfigurationError, match=r"Cannot write .*live\.a\.toml: No space left on device"):
        write(file, "new-secret")
    assert file.read_text() == "old"
    assert list(folder.iterdir()) == [file]


def test_folder_is_a_file(home, folder):
    """A file in place of the folder is an error on writing, and nothing to list."""
    folder.parent.mkdir(parents=True)
    folder.write_text("")
    with pytest.raises(ConfigurationError, match="Cannot write"):
        write(folder / "live.a.toml", "x")
    assert saved_profiles() == []


def test_unreadable_folder(folder, monkeypatch):
    """A folder that may not be read is an error that names it."""
    folder.mkdir(parents=True)

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ConfigurationError, match=r"Cannot read the folder .*profiles: Permission denied"):
        saved_profiles()


def test_delete(folder):
    """Deleting what is gone is fine; what cannot be deleted is an error that names it."""
    delete(folder / "gone")
    folder.mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="Cannot remove"):
        delete(folder)
