"""A scan of a folder reads what people write and save, and no caches."""

from __future__ import annotations

import secrets
import string

from toolkit.scrubbing.scanning import scan_files


def leak():
    value = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(32))
    return f"password={value}\n"


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
        (tmp_path / name).write_text(leak(), encoding="utf-8")
    report = scan_files(tmp_path)
    assert [finding.path.relative_to(tmp_path).as_posix() for finding in report] == read
    skipped = [path.relative_to(tmp_path).as_posix() for path in report.skipped]
    assert skipped == [".cache", ".git", "__pycache__", "env", "node_modules", "a/.venv"]
    assert "not looked at: .cache, .git, __pycache__, env, node_modules, .venv" in repr(report)
    assert len(scan_files(tmp_path / "env")) == 2  # a folder that is named is read
