from __future__ import annotations

import os
from pathlib import Path

import jwt
import pytest
from key_forms import assert_shows_nothing_of, thumbprint

from toolkit.auth.private_keys import as_signer, new_key, write_key_file
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret


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
        assert "git repository" in refused(file)
    assert sorted(path.name for path in repository.rglob("*")) == [".git", "deep"]
    write_key_file(tmp_path / "key.pem", TEXT)
