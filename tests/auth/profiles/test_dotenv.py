from __future__ import annotations

import os
import subprocess
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.auth.profiles.variables import given_in_dotenv
from toolkit.core.errors import ConfigurationError

PAIR = "TOOLKIT_LIVE_KEY_ID=key-id-1\nTOOLKIT_LIVE_SECRET_KEY=secret-1\n"


def git(folder, *arguments):
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **identity}, check=True, capture_output=True)


@pytest.fixture
def clone(project):
    """The project as a git repository with a `.env`, not added yet."""
    git(project, "init", "--quiet")
    (project / ".env").write_text(PAIR)
    return project


def silently(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return given_in_dotenv(folder)


def test_dotenv(project, monkeypatch):
    """Credentials of the file are found; the process's environment is neither read nor changed."""
    (project / ".env").write_text(f"# mine\nexport {PAIR}OTHER=hush\nTOOLKIT_AUTH_URL=https://auth.example.com\n")
    before = dict(os.environ)
    (found,) = silently(project)
    assert (found.source, found.name, {*found.values}) == (".env", "default", {"key_id", "secret_key"})
    assert found.credentials().secret_key.reveal() == "secret-1"
    assert dict(os.environ) == before


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_dotenv_key(project, keys, key_text, encoding):
    """A private key may stand in the file over several lines, or on one."""
    for text in (f'"{key_text}"', '"' + key_text.replace("\n", "\\n") + '"'):
        lines = f"TOOLKIT_BROKER_LIVE_CLIENT_ID=c\r\nTOOLKIT_BROKER_LIVE_PRIVATE_KEY={text}\r\n"
        (project / ".env").write_bytes(lines.encode(encoding))
        (found,) = silently(project)
        assert found.credentials().kind == "client key"


def test_no_dotenv(project):
    """No file, or a virtual environment of that name, gives nothing."""
    assert silently(project) == []
    (project / ".env").mkdir()
    assert silently(project) == []
    assert silently(project / "missing") == []


def test_dotenv_is_not_expanded(project, monkeypatch):
    """A value that refers to a variable does not get it: a cloned file would be handed the user's secrets."""
    monkeypatch.setenv("OTHER_SECRET", "hush-hush")
    (project / ".env").write_text("TOOLKIT_LIVE_KEY_ID=${OTHER_SECRET}\nTOOLKIT_LIVE_SECRET_KEY=s\n")
    with pytest.raises(ConfigurationError, match=r"TOOLKIT_LIVE_KEY_ID in .* refers to another variable"):
        given_in_dotenv(project)
    (project / ".env").write_text("TOOLKIT_LIVE_KEY_ID=k${OTHER_SECRET}\nTOOLKIT_LIVE_SECRET_KEY=$OTHER_SECRET\n")
    (found,) = silently(project)
    assert found.values["key_id"].reveal() == "k${OTHER_SECRET}"
    assert found.values["secret_key"].reveal() == "$OTHER_SECRET"


def test_dotenv_names_no_file_elsewhere(home, project, key_text):
    """A key file in the project may be named, one elsewhere not: a cloned file would be lent the user's keys."""
    for folder in (home, project):
        (folder / "key.pem").write_text(key_text)
    for written, fine in (("key.pem", True), ("../key.pem", False), ("~/key.pem", False)):
        (project / ".env").write_text(
            f"TOOLKIT_BROKER_LIVE_CLIENT_ID=c\nTOOLKIT_BROKER_LIVE_PRIVATE_KEY_FILE={written}\n"
        )
        (found,) = silently(project)
        if fine:
            assert found.credentials().client_id == "c"
        else:
            with pytest.raises(ConfigurationError, match=r"PRIVATE_KEY_FILE in \.env names a file beyond"):
                found.credentials()


def test_dotenv_link(home, project):
    """A link out of the project is refused; one within is followed."""
    (home / "other.env").write_text(PAIR)
    (project / ".env").symlink_to(home / "other.env")
    with pytest.raises(ConfigurationError, match="link out of the project"):
        given_in_dotenv(project)
    (project / ".env").unlink()
    (project / "own.env").write_text(PAIR)
    (project / ".env").symlink_to("own.env")
    assert len(silently(project)) == 1


def test_project_reached_by_link(home, project):
    """A project that is itself reached through a link has its file."""
    (project / ".env").write_text(PAIR)
    (home / "link").symlink_to(project)
    assert len(silently(home / "link")) == 1


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * (2 << 20)])
def test_unreadable_dotenv(project, content):
    """A file that is no text, or endless, is an error that names it."""
    (project / ".env").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"Cannot read .*\.env"):
        given_in_dotenv(project)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_dotenv_pipe(project):
    """A password manager may serve the file as a pipe."""
    os.mkfifo(project / ".env")
    writer = threading.Thread(target=(project / ".env").write_text, args=(PAIR,))
    writer.start()
    (found,) = silently(project)
    writer.join()
    assert found.credentials().secret_key.reveal() == "secret-1"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("TOOLKIT_LIVE_KEY_ID=\"'\n\\$#{}x "), max_size=80))
def test_any_dotenv(project, caplog, text):
    """Any text is read or refused; what is left out is told by its line, never quoted."""
    (project / ".env").write_text(text + "\nTOOLKIT_LIVE_KEY_ID 'kanari-5f1d\n")
    told = ""
    try:
        silently(project)
    except ConfigurationError as error:
        told = str(error)
    assert "kanari" not in told + caplog.text


def test_tracked(clone):
    """A file that git tracks is warned of; before it is added, and once it is removed, not."""
    assert len(silently(clone)) == 1
    git(clone, "add", ".env")
    with pytest.warns(UserWarning, match=r"git tracks .*\.env") as caught:
        given_in_dotenv(clone)
    assert caught[0].filename == __file__
    assert "secret-1" not in str(caught[0].message)
    git(clone, "rm", "--quiet", "--cached", ".env")
    assert len(silently(clone)) == 1


def test_tracked_without_credentials(clone):
    """A tracked file without credentials of ours is nobody's business."""
    (clone / ".env").write_text("COLOUR=green\n")
    git(clone, "add", ".env")
    assert silently(clone) == []


def test_tracked_below_the_root(clone, monkeypatch):
    """A project in a folder of a repository is looked at like its root, whatever repository GIT_DIR names."""
    (clone / "sub").mkdir()
    (clone / "sub" / ".env").write_text(PAIR)
    git(clone, "add", ".env")
    assert len(silently(clone / "sub")) == 1
    git(clone, "add", "sub/.env")
    monkeypatch.setenv("GIT_DIR", os.devnull)
    with pytest.warns(UserWarning, match="git tracks"):
        given_in_dotenv(clone / "sub")


def test_git_runs_nothing_of_the_repository(clone, home):
    """A program that the repository's configuration names is not run by looking."""
    git(clone, "add", ".env")
    monitor = home / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {home / 'ran'}\n")
    monitor.chmod(0o755)
    git(clone, "config", "core.fsmonitor", str(monitor))
    with pytest.warns(UserWarning, match="git tracks"):
        given_in_dotenv(clone)
    assert not (home / "ran").exists()


def test_git_fetches_nothing_for_the_repository(clone, home):
    """Nor is the way to a remote, from which git fetches what a prepared repository lacks, which is a program too."""
    (clone / "folder").mkdir()
    (clone / "folder" / "file").touch()
    git(clone, "add", ".env", "folder")
    git(clone, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "--quiet", "--message", "all")
    tree = subprocess.run(["git", "rev-parse", "HEAD:folder"], cwd=clone, capture_output=True, text=True, check=True)
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {home / 'ran'}",
        "protocol.ext.allow": "always",
    }.items():
        git(clone, "config", name, value)
    git(clone, "sparse-checkout", "init", "--cone", "--sparse-index")
    missing = tree.stdout.strip()
    (clone / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    with pytest.warns(UserWarning, match="git tracks"):
        given_in_dotenv(clone)
    assert not (home / "ran").exists()


def test_a_planted_dotenv(project, monkeypatch):
    """A file that a stranger left in a folder open to all is refused: it would choose the account one works in."""
    (project / ".env").write_text(PAIR)
    monkeypatch.setattr("toolkit.local.project._user", lambda: 1000)
    monkeypatch.setattr("toolkit.local.project._owners", lambda path: {1001} if path.name == ".env" else {0})
    with pytest.raises(ConfigurationError, match="anybody may have put it there") as caught:
        given_in_dotenv(project)
    assert "chown" in caught.value.next_step
    monkeypatch.setattr("toolkit.local.project._owners", lambda _: {1001})
    assert len(silently(project)) == 1


def test_without_git(clone, monkeypatch):
    """Without git, with one that lies in the project, or with one that does not answer, nothing is warned of."""
    git(clone, "add", ".env")
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert len(silently(clone)) == 1
    monkeypatch.setattr("shutil.which", lambda _: str(clone / "git"))
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("a program of the project was run"))
    assert len(silently(clone)) == 1

    def hang(*_, timeout, **__):
        raise subprocess.TimeoutExpired("git", timeout)

    monkeypatch.setattr("shutil.which", lambda _: str(Path(os.devnull)))
    monkeypatch.setattr("subprocess.run", hang)
    assert len(silently(clone)) == 1
