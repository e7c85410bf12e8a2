from __future__ import annotations

import pytest

from toolkit.auth.kinds import KeyPair
from toolkit.auth.profiles.saving import (
    load_credentials,
    save_credentials,
)
from toolkit.core.errors import ConfigurationError, UnsafeAddress


def write_profile(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_written_by_hand(settings, home, folder, key_text):
    """A person may write a file that names a key file; it is bound to addresses like any other."""
    (home / "key.pem").write_text(key_text)
    text = 'client_id = "c"\nprivate_key_file = "~/key.pem"\n[destinations]\n'
    write_profile(folder, "broker-live.mine.toml", text)
    with pytest.raises(ConfigurationError, match="does not say for which addresses"):
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
    with pytest.raises(ConfigurationError, match="a of paper cannot be decrypted") as caught:
        load_credentials("paper", settings=settings)
    assert "`toolkit credentials add a --environment paper`" in caught.value.next_step


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
