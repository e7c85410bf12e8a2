"""New key pairs: what is made, the thumbprints of the RFCs, and a file that is new and private or not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_forms import ROOT, assert_shows_nothing_of, key

import toolkit.auth.keys.new_key as new_key_module
from toolkit.auth.keys import as_signer
from toolkit.auth.keys.new_key import new_key, thumbprint, write_new_file
from toolkit.auth.keys.signer import ALGORITHMS
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
    """The examples of the RFCs have the thumbprints printed there."""
    assert thumbprint(RSA_OF_RFC_7638) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    assert thumbprint(ED25519_OF_RFC_8037) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@given(st.permutations(sorted(RSA_OF_RFC_7638)), st.dictionaries(st.text(min_size=3), st.text()))
def test_thumbprint_depends_on_the_public_key_alone(order, more):
    """Neither the order of members nor further ones matter."""
    assert thumbprint({**more, **{name: RSA_OF_RFC_7638[name] for name in order}}) == thumbprint(RSA_OF_RFC_7638)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pair_belongs_together(algorithm):
    """What the private half signs, both forms of the public half verify; nothing private is in the JWK."""
    made = new_key(algorithm)
    signer = as_signer(made.private_pem, algorithm=algorithm)
    implementation = jwt.get_algorithm_by_name(algorithm)
    for public in (
        implementation.prepare_key(made.public_pem.encode()),
        jwt.PyJWK.from_dict(dict(made.public_jwk)).key,
    ):
        assert implementation.verify(b"data", public, signer.sign(b"data"))
        assert not implementation.verify(b"other", public, signer.sign(b"data"))
    assert set(made.public_jwk) <= {"kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"}
    assert (made.public_jwk["kid"], made.public_jwk["alg"], made.public_jwk["use"]) == (made.key_id, algorithm, "sig")
    assert made.key_id == made.thumbprint == thumbprint(made.public_jwk)
    assert "PRIVATE" not in repr(made)


def test_every_pair_is_another():
    """Two pairs share nothing."""
    assert new_key().thumbprint != new_key().thumbprint


def test_key_id_of_a_pair():
    """A key ID of one's own takes the place of the thumbprint; one that cannot be sent is refused."""
    made = new_key(key_id="desk 1")
    assert (made.key_id, made.public_jwk["kid"]) == ("desk 1", "desk 1")
    assert made.thumbprint == thumbprint(made.public_jwk) != "desk 1"
    with pytest.raises(ConfigurationError, match="key ID"):
        new_key(key_id="a\nb")


@pytest.mark.parametrize("algorithm", ["HS256", "none", "es256", ""])
def test_no_pair_for_others(algorithm):
    """There are pairs for the algorithms that sign with a private key, and no others."""
    with pytest.raises(ConfigurationError, match="algorithm"):
        new_key(algorithm)


def test_an_encrypted_pair():
    """With a passphrase the private half opens with it only."""
    made = new_key("EdDSA", passphrase=Secret("correct horse"))
    assert "ENCRYPTED" in made.private_pem.reveal()
    assert as_signer(made.private_pem, passphrase="correct horse").algorithm == "EdDSA"
    with pytest.raises(ConfigurationError, match="encrypted with a passphrase"):
        as_signer(made.private_pem)


posix_only = pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
TEXT = Secret("QXZ0123456789QXZ\n")


def refused(file):
    with pytest.raises(ConfigurationError) as caught:
        write_new_file(file, TEXT)
    assert caught.value.next_step
    assert_shows_nothing_of(caught.value, TEXT.reveal())
    return caught.value.what


@posix_only
def test_file_is_private(tmp_path):
    """The file and the folders made for it are its user's alone, whatever the umask."""
    before = os.umask(0)
    try:
        write_new_file(tmp_path / "a" / "b" / "key.pem", TEXT)
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b" / "key.pem").read_text() == TEXT.reveal()
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/key.pem")]
    assert modes == [0o700, 0o700, 0o600]


def test_nothing_is_overwritten(tmp_path):
    """A file, a link to one, a link to nothing and a folder of that name all stay as they are."""
    file, link, dangling = tmp_path / "file", tmp_path / "link", tmp_path / "dangling"
    file.write_text("before")
    link.symlink_to(file)
    dangling.symlink_to(tmp_path / "nothing")
    for each in (file, link, dangling, tmp_path):
        assert "something of that name already" in refused(each)
    assert file.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file", "link"]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_not_in_a_repository(tmp_path, is_worktree, monkeypatch):
    """Not anywhere below a `.git`, whether it is a folder or a worktree's file, nor through a link into one."""
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
    write_new_file(tmp_path / "key.pem", TEXT)


def test_folder_that_cannot_be_written(tmp_path):
    """A folder that takes no file, and a file where a folder is wanted, are errors that say so."""
    (tmp_path / "file").write_text("")
    assert "Cannot write" in refused(tmp_path / "file" / "key.pem")
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "shut").mkdir(mode=0o500)
        assert "Permission denied" in refused(tmp_path / "shut" / "key.pem")
    if Path("/proc/self").exists():
        assert "Cannot write" in refused(Path("/proc/key.pem"))


def test_full_disk(tmp_path):
    """When the disk takes only half of it, the half is removed and the reason said."""
    resource = pytest.importorskip("resource")
    program = (
        "import sys; from pathlib import Path; from toolkit.auth.keys.new_key import write_new_file\n"
        "from toolkit.core.errors import ToolkitError; from toolkit.core.secret import Secret\n"
        "try: write_new_file(Path(sys.argv[1]), Secret('x' * 5000))\n"
        "except ToolkitError as error: print(error.what)"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(ROOT).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "key.pem")],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_interrupted(tmp_path, monkeypatch):
    """Ctrl+C while it is written leaves no half of it."""

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_new_file(tmp_path / "key.pem", TEXT)
    assert list(tmp_path.iterdir()) == []


@posix_only
def test_disk_that_keeps_nothing_private(tmp_path, monkeypatch):
    """Where every file is open to others, such as on a shared mount, no key is left."""
    really = os.open

    def opened(path, flags, mode):
        descriptor = really(path, flags, mode)
        os.fchmod(descriptor, 0o644)
        return descriptor

    monkeypatch.setattr(new_key_module.os, "open", opened)
    assert "others may read" in refused(tmp_path / "key.pem")
    assert list(tmp_path.iterdir()) == []


def test_key_kinds_in_use():
    """The RSA keys that are made are at least as strong as those that are taken."""
    assert key("RSA").key_size <= new_key_module.RSA_BITS
