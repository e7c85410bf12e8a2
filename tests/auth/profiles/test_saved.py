from __future__ import annotations

import os
import warnings

import pytest

from toolkit.auth.kinds import KeyPair
from toolkit.auth.profiles.saving import (
    load_credentials,
    save_credentials,
)
from toolkit.core.errors import ConfigurationError, UnsafeAddress

DESTINATIONS = (
    '[destinations]\ntrading_live = "https://trading.example.com"\nmarket_data = "https://data.example.com/stocks"\n'
)


def write_profile(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_written_by_hand(settings, home, folder, keys, key_text):
    """A person may write a file that names a key file; it is bound to addresses like any other."""
    (home / "key.pem").write_text(key_text)
    text = 'client_id = "c"\nprivate_key_file = "~/key.pem"\n[destinations]\n'
    write_profile(folder, "broker-live.mine.toml", text)
    with pytest.raises(ConfigurationError, match="does not say with which addresses"):
        load_credentials("broker-live", settings=settings)
    destinations = "\n".join(f'{name} = "{settings.addresses[name]}"' for name in ("auth", "broker", "market_data"))
    write_profile(folder, "broker-live.mine.toml", text + destinations)
    credentials = load_credentials("broker-live", settings=settings)
    assert (credentials.name, credentials.kind) == ("mine", "client key")
    write_profile(folder, "broker-live.mine.toml", text + destinations.replace("auth.example.com", "auth.example.org"))
    with pytest.raises(UnsafeAddress, match=r"https://auth\.example\.org"):
        load_credentials("broker-live", settings=settings)


def test_sealed_file_under_another_name(memory_keyring, settings, folder):
    """A sealed file opens for its own profile only, not when it is copied to the name of another."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    write_profile(folder, "paper.a.toml", (folder / "live.a.toml").read_text())
    with pytest.raises(ConfigurationError, match="a of paper does not open") as caught:
        load_credentials("paper", settings=settings)
    assert "`toolkit credentials add a --environment paper`" in caught.value.next_step


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_open_to_others(settings, folder):
    """A warning names a file with credentials that others can read."""
    file = write_profile(folder, "live.a.toml", f'key_id = "k"\nsecret_key = "s"\n{DESTINATIONS}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_credentials("live", settings=settings)
    file.chmod(0o640)
    with pytest.warns(UserWarning, match=r"Others .*live\.a\.toml.*chmod 600"):
        load_credentials("live", settings=settings)


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


AUTH = '[destinations]\nauth = "https://auth.example.com"\n'


def refusal(folder, settings, text, kind=ConfigurationError):
    write_profile(folder, "broker-live.a.toml", text)
    with pytest.raises(kind) as caught:
        load_credentials("broker-live", settings=settings)
    assert "broker-live.a.toml" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    "table",
    [
        "",
        "[destinations]",
        "destinations = 3",
        '[destinations]\nfoo = "https://a.example"',
        '[destinations]\nheader_prefix = "SVC"',
    ],
)
def test_without_destinations(table, folder, settings):
    """A file that does not say where its credentials may go is refused, and the error tells how to write it."""
    message = str(refusal(folder, settings, f'client_id = "k"\n{table}'))
    assert "[destinations]" in message
    assert 'auth = "https://' in message


@pytest.mark.parametrize(
    "text",
    [
        'hush = "x"\n' + AUTH,
        'client_secret_command = "hush"\n' + AUTH,
        "key_id = 5\n" + AUTH,
        'key_id = ""\n' + AUTH,
        'key_id = ["hush"]\n' + AUTH,
        'key_id = "hush\n' + AUTH,
        "hush",
        "[hush]\n[hush]",
        "x = " + "[" * 5000 + "hush",
        'sealed = "hush"',
        'kind = "hush"\nsealed = "x"',
        'kind = ["hush"]\nsealed = "x"',
        'kind = "key pair"\nsealed = 5',
        'kind = "key pair"\nsealed = "x"\nkey_id = "hush"',
    ],
)
def test_malformed(text, folder, settings, locals_of):
    """A text that is not a profile is refused and not quoted."""
    error = refusal(folder, settings, text)
    assert "hush" not in f"{error} {locals_of(error)}"
