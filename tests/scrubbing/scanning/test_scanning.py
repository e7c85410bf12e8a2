"""A scan finds secrets in the files that people write and save, and reads no caches."""

from __future__ import annotations

import base64
import os
import secrets
import textwrap
from pathlib import Path

import pytest
from forgetting import forget_everything

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.scrubbing.scanning import Finding, scan_files
from toolkit.sharing.saved_secrets import scan

TOKEN = "obviously-fake-token-1"


def wrapped(data):
    """Return base64 in lines, as in mail and keys."""
    return "\n".join(textwrap.wrap(base64.b64encode(data).decode(), 16))


def fake(length=24):
    return secrets.token_hex(length // 2)


def test_secrets_by_value(tmp_path):
    """A scan finds a secret in every form, with its line unless the secret spans several."""
    data = [
        TOKEN,
        "",
        TOKEN.encode().hex(),
        base64.b64encode(TOKEN.encode()).decode(),
        "a%2Fb",
        TOKEN.replace("-", "%2D"),
    ]
    path = tmp_path / "x.bin"
    path.write_text("\n".join(data), encoding="utf-8")
    assert scan(str(path), secrets=[TOKEN]) == [
        Finding(path, 1, "known secret, as it is"),
        Finding(path, 3, "known secret, in hex"),
        Finding(path, 4, "known secret, in base64"),
        Finding(path, 6, "known secret, percent-encoded or escaped"),
    ]
    path.write_text(wrapped(b"a" + TOKEN.encode()), encoding="utf-8")
    assert scan(path, secrets=Secret(TOKEN)) == [Finding(path, 1, "known secret across lines, in base64")]
    assert scan(path) == scan(path, secrets=TOKEN)  # the process knows it
    forget_everything()
    assert scan(path) == []


def forbidden(path, *_, **__):
    raise PermissionError(13, "Permission denied", str(path))


def test_nothing_to_scan(tmp_path, monkeypatch):
    """A named path that does not exist or cannot be read is an error, not an empty result."""
    with pytest.raises(ConfigurationError, match="neither a file nor a folder"):
        scan(tmp_path / "nowhere")
    (tmp_path / "x").touch()
    monkeypatch.setattr("pathlib.Path.open", forbidden)
    with pytest.raises(ConfigurationError, match="Permission denied"):
        scan(tmp_path / "x")
    monkeypatch.setattr("os.scandir", forbidden)
    with pytest.raises(ConfigurationError, match="Permission denied"):
        scan(tmp_path)


def test_unreadable_below_a_folder(tmp_path, monkeypatch):
    """What cannot be read below a folder is reported and shown, and the rest is scanned."""
    for name in ("a/b.txt", "c.txt", "d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"password: {fake()}", encoding="utf-8")
    opened, listed = Path.open, os.scandir
    monkeypatch.setattr(Path, "open", lambda path, *a: (forbidden if path.name == "c.txt" else opened)(path, *a))
    monkeypatch.setattr(os, "scandir", lambda path: (forbidden if Path(path).name == "a" else listed)(path))
    report = scan_files(tmp_path)
    assert [finding.path.name for finding in report] == ["d.txt"]
    assert report.files == 1
    assert [(each.path.name, each.reason) for each in report.unreadable] == [
        ("a", "Permission denied"),
        ("c.txt", "Permission denied"),
    ]
    assert f"not read: {tmp_path / 'c.txt'}: Permission denied" in repr(report)


def test_a_secret_in_several_lines(tmp_path):
    """A secret on each of three lines is three findings; a key that runs over several lines is one."""
    path = tmp_path / "notes.txt"
    path.write_text("an-invented-secret\n" * 3, encoding="utf-8")
    assert [finding.line for finding in scan(path, secrets="an-invented-secret")] == [1, 2, 3]
    lines = [secrets.token_urlsafe(48) for _ in range(4)]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    path.write_text("\n".join(["", *lines, ""]), encoding="utf-8")
    assert [finding.line for finding in scan(path, secrets=pem)] == [2]


def test_which_files(tmp_path):
    """Hidden files, checkpoints and settings count; caches, installed packages and other hidden folders do not."""
    read = [".aws/credentials", ".env", ".github/workflows/a.yml", ".ipynb_checkpoints/n.ipynb", ".netrc", "a/b/c.txt"]
    left_out = [
        ".cache/x",
        ".git/config",
        "__pycache__/a.pyc",
        "a/.venv/x.py",
        "env/pyvenv.cfg",
        "env/x.py",
        "node_modules/x.js",
    ]
    for name in (*read, *left_out):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"password={fake()}\n", encoding="utf-8")
    report = scan_files(tmp_path)
    assert [finding.path.relative_to(tmp_path).as_posix() for finding in report] == read
    skipped = [path.relative_to(tmp_path).as_posix() for path in report.skipped]
    assert skipped == [".cache", ".git", "__pycache__", "env", "node_modules", "a/.venv"]
    assert "skipped: .cache, .git, __pycache__, env, node_modules, .venv" in repr(report)
    assert len(scan_files(tmp_path / "env")) == 2  # a folder that is named is read
