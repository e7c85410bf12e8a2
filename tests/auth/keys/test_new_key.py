from __future__ import annotations

import errno
import os
from pathlib import Path

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_forms import assert_shows_nothing_of

import toolkit.auth.private_keys as new_key_module
from toolkit.auth.private_keys import as_signer, new_key, thumbprint, write_key_file
from toolkit.auth.signers import ALGORITHMS, SMALLEST_RSA_KEY
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

# RFC 7638 section 3.1 and RFC 8037 appendix A.
RSA_OF_RFC_7638 = {
    "kty": "RSA",
    "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3"
    "oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu"
    "6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awa"
    "pJzKnqDKgw",
    "e": "AQAB",
    "alg": "RS256",
    "kid": "2011-04-29",
}
ED25519_OF_RFC_8037 = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


def test_thumbprints_of_the_rfcs():
    """The examples of RFC 7638 and RFC 8037 have the thumbprints printed there."""
    assert thumbprint(RSA_OF_RFC_7638) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    assert thumbprint(ED25519_OF_RFC_8037) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@given(st.permutations(sorted(RSA_OF_RFC_7638)), st.dictionaries(st.text(min_size=3), st.text()))
def test_thumbprint_depends_only_on_the_public_key(order, more):
    """The order of members and further members make no difference."""
    assert thumbprint({**more, **{name: RSA_OF_RFC_7638[name] for name in order}}) == thumbprint(RSA_OF_RFC_7638)


def test_algorithms_of_new_keys(monkeypatch):
    """There is a new key for every algorithm, and new RSA keys are strong enough to be accepted."""
    assert new_key_module.RSA_BITS >= SMALLEST_RSA_KEY
    monkeypatch.setattr(new_key_module, "RSA_BITS", 1024)  # quicker
    for algorithm in ALGORITHMS:
        assert new_key(algorithm).algorithm == algorithm


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "EdDSA", "PS256"])
def test_halves_of_a_new_key_belong_together(algorithm):
    """Both forms of the public half verify what the private half signs; nothing private is in the JWK."""
    pair = new_key(algorithm)
    signer = as_signer(pair.private_pem, algorithm=algorithm)
    implementation = jwt.get_algorithm_by_name(algorithm)
    for public in (
        implementation.prepare_key(pair.public_pem.encode()),
        jwt.PyJWK.from_dict(dict(pair.public_jwk)).key,
    ):
        assert implementation.verify(b"data", public, signer.sign(b"data"))
        assert not implementation.verify(b"other", public, signer.sign(b"data"))
    assert set(pair.public_jwk) <= {"kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"}
    assert (pair.public_jwk["kid"], pair.public_jwk["alg"], pair.public_jwk["use"]) == (pair.key_id, algorithm, "sig")
    assert pair.key_id == pair.thumbprint == thumbprint(pair.public_jwk)
    assert "PRIVATE" not in repr(pair)


def test_new_keys_differ():
    """No two new keys are the same."""
    assert new_key().thumbprint != new_key().thumbprint


def test_key_id_of_a_new_key():
    """A given key ID replaces the thumbprint; one that cannot be sent is refused."""
    pair = new_key(key_id="desk 1")
    assert (pair.key_id, pair.public_jwk["kid"]) == ("desk 1", "desk 1")
    assert pair.thumbprint == thumbprint(pair.public_jwk) != "desk 1"
    with pytest.raises(ConfigurationError, match="key ID"):
        new_key(key_id="a\nb")


@pytest.mark.parametrize("algorithm", ["HS256", "none", "es256", ""])
def test_unknown_algorithm_of_a_new_key(algorithm):
    """An algorithm that does not sign with a private key is refused."""
    with pytest.raises(ConfigurationError, match="algorithm"):
        new_key(algorithm)


def test_encrypted_new_key():
    """A private half that was made with a passphrase is decrypted only with it."""
    pair = new_key("EdDSA", passphrase=Secret("correct horse"))
    assert "ENCRYPTED" in pair.private_pem.reveal()
    assert as_signer(pair.private_pem, passphrase="correct horse").algorithm == "EdDSA"
    with pytest.raises(ConfigurationError, match="encrypted with a passphrase"):
        as_signer(pair.private_pem)


posix_only = pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
TEXT = Secret("QXZ0123456789QXZ\n")


def refused(file):
    with pytest.raises(ConfigurationError) as caught:
        write_key_file(file, TEXT)
    assert caught.value.next_step
    assert_shows_nothing_of(caught.value, TEXT.reveal())
    return caught.value.what


@posix_only
def test_key_file_is_private(tmp_path):
    """Only the user may use the new file and its new folders, whatever the umask."""
    before = os.umask(0)
    try:
        write_key_file(tmp_path / "a" / "b" / "key.pem", TEXT)
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b" / "key.pem").read_text() == TEXT.reveal()
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/key.pem")]
    assert modes == [0o700, 0o700, 0o600]


def test_nothing_is_overwritten(tmp_path):
    """A file, a link to a file, a dangling link and a folder of that name all stay as they are."""
    file, link, dangling = tmp_path / "file", tmp_path / "link", tmp_path / "dangling"
    file.write_text("before")
    link.symlink_to(file)
    dangling.symlink_to(tmp_path / "nothing")
    for path in (file, link, dangling, tmp_path):
        assert "the name exists already" in refused(path)
    assert file.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file", "link"]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_key_file_in_a_repository(tmp_path, is_worktree, monkeypatch):
    """No key is written below a folder with `.git`, a folder or a worktree's file, nor through a link into one."""
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    (repository / "deep").mkdir(parents=True)
    if is_worktree:
        (repository / ".git").write_text("gitdir: elsewhere")
    else:
        (repository / ".git").mkdir()
    outside.symlink_to(repository / "deep")
    monkeypatch.chdir(repository)
    for file in (repository / "key.pem", repository / "deep" / "new" / "key.pem", outside / "key.pem", Path("key.pem")):
        assert f"git repository {repository}" in refused(file)
    assert sorted(path.name for path in repository.rglob("*")) == [".git", "deep"]
    write_key_file(tmp_path / "key.pem", TEXT)


def test_folder_that_cannot_be_written(tmp_path):
    """The error says why a file cannot be written: a file in place of a folder, or missing permission."""
    (tmp_path / "file").write_text("")
    assert "Cannot write" in refused(tmp_path / "file" / "key.pem")
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "shut").mkdir(mode=0o500)
        assert "Permission denied" in refused(tmp_path / "shut" / "key.pem")
    if Path("/proc/self").exists():
        assert "Cannot write" in refused(Path("/proc/key.pem"))


def test_disk_that_is_full(tmp_path, monkeypatch):
    """A key that could be written only in part is removed, and the error gives the reason."""

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    assert "No space left on device" in refused(tmp_path / "key.pem")
    assert list(tmp_path.iterdir()) == []


def test_interrupted_write(tmp_path, monkeypatch):
    """Ctrl+C while a key is written leaves no file, and no key in the traceback."""

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        write_key_file(tmp_path / "key.pem", TEXT)
    assert list(tmp_path.iterdir()) == []
    assert_shows_nothing_of(caught.value, TEXT.reveal())


@posix_only
def test_disk_without_private_files(tmp_path, monkeypatch):
    """On a disk where every file is open to others, such as a shared mount, no key is left."""
    really_open = os.open

    def open_to_others(path, flags, mode):
        descriptor = really_open(path, flags, mode)
        os.fchmod(descriptor, 0o644)
        return descriptor

    monkeypatch.setattr(os, "open", open_to_others)
    assert "others may read" in refused(tmp_path / "key.pem")
    assert list(tmp_path.iterdir()) == []
