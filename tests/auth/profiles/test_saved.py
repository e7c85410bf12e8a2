from __future__ import annotations

import os
import warnings
from pathlib import Path

import platformdirs
import pytest

from toolkit.auth.credentials import KeyPair
from toolkit.auth.profiles.keyring import seal_text
from toolkit.auth.profiles.profile_document import render_closed
from toolkit.auth.profiles.saved import delete, make_folder, profiles_folder, saved_profiles, write
from toolkit.auth.profiles.saving import (
    load_credentials,
    remove_credentials,
    save_credentials,
    saved_credentials,
)
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.secret import Secret

ORIGINS = '[origins]\ntrading_live = "https://trading.example.com"\nmarket_data = "https://data.example.com"\n'


def write_profile(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_folder(monkeypatch, home):
    """The folder is in the user's configuration folder, and looking for it does not create it."""
    assert profiles_folder() == Path(platformdirs.user_config_dir("service-access-toolkit")) / "profiles"
    assert saved_profiles() == []
    assert list(home.iterdir()) == []


def test_written_by_hand(settings, home, folder, keys, key_text):
    """A person may write a file that names a key file; it is bound to addresses like any other."""
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
    """A file whose name is not a profile name is refused when it is loaded."""
    write_profile(folder, "live.a b.toml", f'key_id = "k"\nsecret_key = "s"\n{ORIGINS}')
    with pytest.raises(ConfigurationError, match="profile name"):
        load_credentials("live", "a b", settings=settings)


def test_sealed_file_under_another_name(memory_keyring, settings, folder):
    """A sealed file opens for its own profile only, not when it is copied to the name of another."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    write_profile(folder, "paper.a.toml", (folder / "live.a.toml").read_text())
    with pytest.raises(ConfigurationError, match="paper/a does not open") as caught:
        load_credentials("paper", settings=settings)
    assert "`toolkit credentials add a --environment paper`" in caught.value.next_step


def test_sealed_file_in_a_sealed_file(memory_keyring, settings, folder):
    """A sealed text that is not a profile is refused, and not followed or quoted."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    for text in ((folder / "live.a.toml").read_text(), "hush"):
        sealed = seal_text(Secret(text), "live/a", folder)
        write_profile(folder, "live.a.toml", render_closed("key pair", sealed))
        with pytest.raises(ConfigurationError, match=r"is not a profile|is not valid TOML") as caught:
            load_credentials("live", settings=settings)
        assert "hush" not in str(caught.value)


EARLIER = 'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = 1\n'
EARLIER_PLACE = ("service-access-toolkit/live/a/0123456789abcdef/1", "live/a")


@pytest.fixture
def earlier(memory_keyring, folder):
    """Save a profile as earlier versions did, and return the entries of the keyring."""
    write_profile(folder, "live.a.toml", EARLIER)
    memory_keyring.entries[EARLIER_PLACE] = f'key_id = "k"\nsecret_key = "hush-hush"\n{ORIGINS}'
    return memory_keyring.entries


def test_earlier_profile(earlier, settings):
    """A profile that an earlier version saved is listed and loaded; without its entry, the error says what to do."""
    assert [profile.source for profile in saved_credentials(settings=settings)] == ["keyring"]
    assert load_credentials("live", settings=settings).secret_key.reveal() == "hush-hush"
    earlier.clear()
    with pytest.raises(ConfigurationError, match="toolkit credentials add a --environment live"):
        load_credentials("live", settings=settings)


def test_replacing_an_earlier_profile(earlier, settings):
    """Saving the profile again removes its old entries from the keyring."""
    save_credentials(KeyPair("k", "other", environment="live"), "a", settings=settings)
    assert EARLIER_PLACE not in earlier
    assert load_credentials("live", settings=settings).secret_key.reveal() == "other"


def test_removing_an_earlier_profile(memory_keyring, earlier, settings, folder):
    """Removing the profile empties the keyring; if the keyring is locked, the profile stays."""
    memory_keyring.broken = {"delete"}
    with pytest.raises(ConfigurationError, match="locked"):
        remove_credentials("a", "live")
    assert (folder / "live.a.toml").exists()
    memory_keyring.broken = set()
    remove_credentials("a", "live")
    assert earlier == {}
    assert saved_credentials(settings=settings) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_open_to_others(settings, folder):
    """A warning names a file with credentials that others can read."""
    file = write_profile(folder, "live.a.toml", f'key_id = "k"\nsecret_key = "s"\n{ORIGINS}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_credentials("live", settings=settings)
    file.chmod(0o640)
    with pytest.warns(UserWarning, match=r"Others .*live\.a\.toml.*chmod 600"):
        load_credentials("live", settings=settings)


def test_write(folder):
    """A file is written whole and replaced whole."""
    file = make_folder() / "live.a.toml"
    write(file, Secret("one\n"))
    write(file, Secret("zwei ü\n"))
    assert file.read_bytes() == "zwei ü\n".encode()
    assert list(folder.iterdir()) == [file]


def save(settings):
    save_credentials(KeyPair("k", "hush-hush", environment="live"), "a", settings=settings)


def test_links(home, settings, folder):
    """A link in place of the file or of its folders is refused, and its target stays as it is."""
    victim = home / "victim"
    victim.write_text("mine")
    folder.mkdir(parents=True)
    (folder / "live.a.toml").symlink_to(victim)
    with pytest.raises(ConfigurationError, match="is a link"):
        save(settings)
    assert victim.read_text() == "mine"
    (folder / "live.a.toml").unlink()
    for linked in (folder, folder.parent):
        elsewhere = home / f"elsewhere-{linked.name}"
        linked.rename(elsewhere)
        linked.symlink_to(elsewhere)
        with pytest.raises(ConfigurationError, match="is a link"):
            save(settings)
        assert [file for file in elsewhere.rglob("*") if file.is_file()] == []
        linked.unlink()
        elsewhere.rename(linked)


@pytest.mark.filterwarnings("ignore:No system keyring")
@pytest.mark.parametrize("keyring_fixture", ["memory_keyring", "no_keyring"])
def test_full_disk(request, settings, folder, monkeypatch, keyring_fixture):
    """If the disk is full, the error says so, the old profile stays, and no other file is left."""
    request.getfixturevalue(keyring_fixture)
    save(settings)
    before = (folder / "live.a.toml").read_bytes()

    def fail(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(ConfigurationError, match=r"Cannot write .*live\.a\.toml: No space left on device"):
            save_credentials(KeyPair("k", "other", environment="live"), "a", settings=settings)
    assert (folder / "live.a.toml").read_bytes() == before
    assert [file.name for file in folder.iterdir()] == ["live.a.toml"]
    assert load_credentials("live", settings=settings).secret_key.reveal() == "hush-hush"


def test_folder_is_a_file(settings, folder):
    """If a file is in place of the folder, saving is an error, and the list is empty."""
    folder.parent.mkdir(parents=True)
    folder.write_text("")
    with pytest.raises(ConfigurationError, match="Cannot write"):
        save(settings)
    assert saved_profiles() == []


def test_unreadable_folder(folder, monkeypatch):
    """A folder that cannot be read is an error that names it."""
    folder.mkdir(parents=True)

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ConfigurationError, match=r"Cannot read the folder .*profiles: Permission denied"):
        saved_profiles()


def test_delete(folder):
    """Deleting a missing file does nothing; if a file cannot be deleted, the error names it."""
    delete(folder / "gone")
    folder.mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="Cannot remove"):
        delete(folder)


@pytest.mark.skipif(os.name != "posix", reason="owners are of POSIX")
def test_profile_of_another_user(settings, folder, monkeypatch):
    """A profile that a stranger left is refused, because it would choose the account; it is listed with a warning."""
    file = write_profile(folder, "live.a.toml", f'key_id = "k"\nsecret_key = "s"\n{ORIGINS}')
    monkeypatch.setattr("toolkit.auth.profiles.saved.belongs_to_stranger", lambda path, _: path == file)
    with pytest.raises(ConfigurationError, match=r"live\.a\.toml belongs neither to you") as caught:
        load_credentials("live", settings=settings)
    assert "chown" in caught.value.next_step
    with pytest.warns(UserWarning, match="belongs neither"):
        assert saved_credentials(settings=settings) == []
