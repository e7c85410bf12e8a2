"""The hooks for pre-commit, run by pre-commit, which installs the toolkit from a clone of this repository."""

import os
import subprocess
import sys

import pytest
from notebook_files import write_notebook


@pytest.fixture(scope="session")
def pre_commit_home(tmp_path_factory):
    """Return the folder in which pre-commit keeps what it installed for the hooks."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture(scope="session")
def hooks(tmp_path_factory, copy_repository):
    """Return a repository with the hooks of this checkout, committed or not."""
    folder = tmp_path_factory.mktemp("hooks") / "repository"
    copy_repository(folder)
    identity = ("-c", "user.name=Test", "-c", "user.email=test@host.example", "-c", "commit.gpgsign=false")
    for arguments in (["init", "--quiet"], ["add", "--all"], [*identity, "commit", "--quiet", "--message=Hooks"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
    return folder, commit


@pytest.fixture
def run_hook(git_project, hooks, pre_commit_home):
    """Run a hook on what is staged; return exit status and output."""
    repository, commit = hooks

    def run(hook, *arguments):
        lines = ["repos:", f"- repo: {repository}", f"  rev: {commit}", "  hooks:", f"  - id: {hook}"]
        git_project.add(".pre-commit-config.yaml", "\n".join([*lines, ""]))
        command = [sys.executable, "-m", "pre_commit", "run", hook, "--color=never", *arguments]
        environ = {**os.environ, "PRE_COMMIT_HOME": str(pre_commit_home)}  # its own environment
        process = subprocess.run(
            command, cwd=git_project.folder, env=environ, capture_output=True, text=True, check=False
        )
        return process.returncode, process.stdout + process.stderr

    return run


def test_scan_hook(git_project, run_hook):
    """A commit with a secret is refused, place and next steps are shown; without the secret it passes."""
    planted = git_project.add("src/call me.py", f"\nclient_secret = '{git_project.secret}'\n")
    status, output = run_hook("toolkit-scan")
    assert status == 1, output
    assert "src/call me.py:2: secret field" in output
    assert "git filter-repo" in output
    assert git_project.secret not in output
    git_project.add(planted.relative_to(git_project.folder).as_posix(), "client_secret = read()\n")
    status, output = run_hook("toolkit-scan")
    assert status == 0, output
    assert "Passed" in output


def test_scan_hook_reads_what_is_staged(git_project, run_hook):
    """The staged content counts, not what is in the folder beside it."""
    file = git_project.add("a.py", f"client_secret = '{git_project.secret}'\n")
    file.write_text("client_secret = read()\n")
    assert run_hook("toolkit-scan")[0] == 1


def test_verify_hook(git_project, run_hook):
    """A notebook whose outputs are not stored is refused; once they are, it passes; other files are left alone."""
    git_project.add("a.py", "print(1)\n")
    status, output = run_hook("toolkit-verify")
    assert (status, "no files to check" in output) == (0, True)
    write_notebook(git_project.folder / "notebooks" / "a.ipynb", "print(6 * 7)")
    git_project.git("add", "--all")
    status, output = run_hook("toolkit-verify")
    assert status == 1, output
    assert "+42" in output
