"""Projects under git, and one folder for what pip installs."""

import os
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.planted_project import letters

ROOT = Path(__file__).resolve().parents[2]


class Project:
    """A folder under git.

    Attributes:
        folder: the folder.
        secret: a secret to plant.
    """

    def __init__(self, folder):
        self.folder = folder
        self.secret = letters(Random(17), 40)  # noqa: S311 - made up
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        """Run git and return what it prints."""
        identity = ("-c", "user.name=Test", "-c", "user.email=test@host.example", "-c", "commit.gpgsign=false")
        command = ["git", *identity, *arguments]
        process = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        return process.stdout

    def add(self, name, text):
        """Write a file and stage it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.git("add", "--", name)
        return path


# Other tests have cache folders of their own; what pip downloaded is worth keeping.
CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@pytest.fixture(autouse=True)
def quick_pip(monkeypatch):
    """Let pip use its cache, and leave out the compiling of all that it installs, which takes longer than the tests."""
    monkeypatch.setenv("PIP_CACHE_DIR", str(CACHES / "pip"))
    monkeypatch.setenv("PIP_NO_COMPILE", "0")  # pip reads a 0 here as --no-compile


@pytest.fixture
def git_project(tmp_path):
    """Return an empty project under git."""
    return Project(tmp_path / "project")


@pytest.fixture(scope="session")
def runner_temp(tmp_path_factory):
    """Return the temporary folder of a runner, in which actions keep what they installed."""
    return tmp_path_factory.mktemp("runner-temp")


@pytest.fixture(scope="session")
def copy_repository():
    """Return a function that copies the repository into a folder, without what is not committed."""
    ignored = shutil.ignore_patterns(".git", ".venv*", "node_modules", "__pycache__", ".*_cache")

    def skipped(path, names):
        return ignored(path, names) | ({"sweeps"} if Path(path) == ROOT / "notebooks" else set())

    return lambda folder: shutil.copytree(ROOT, folder, ignore=skipped)
