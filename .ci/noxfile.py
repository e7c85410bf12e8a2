"""Run the tests under each version of Python: `nox -f .ci/noxfile.py`.

    nox -f .ci/noxfile.py --list                               # all sessions
    nox -f .ci/noxfile.py -s tests-3.14                        # one
    nox -f .ci/noxfile.py -p 3.14 -s tests -- tests/scrubbing  # arguments of pytest

The versions are those that `pyproject.toml` names. A version that is not installed is skipped, or fails if the variable
CI is set. Environments are made in `build/nox`, with uv if it is installed, which is faster.
"""

from __future__ import annotations

from pathlib import Path

import nox

PROJECT = Path(__file__).resolve().parents[1]
VERSIONS = nox.project.python_versions(nox.project.load_toml(PROJECT / "pyproject.toml"))
PYTEST = ("python", "-m", "pytest", "-q", "-n", "logical", "--dist", "loadfile")

nox.needs_version = ">=2024.4"
nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.envdir = str(PROJECT / "build" / "nox")


@nox.session(python=VERSIONS)
def tests(session: nox.Session) -> None:
    """Run the tests that need no browser, kernel or cluster."""
    _install(session, "tests")
    session.run(*PYTEST, *session.posargs)


@nox.session(python=VERSIONS)
def gate(session: nox.Session) -> None:
    """Run the tests of the gate: browsers, kernels, clusters and processes."""
    _install(session, "gate")
    session.run(*PYTEST, "--gate", "-m", "gate", *session.posargs)


@nox.session(python=VERSIONS[0])
def docs(session: nox.Session) -> None:
    """Build the site into `build/site`."""
    _install(session, "docs")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "notebooks", "build/site", *session.posargs)


def _install(session: nox.Session, extras: str) -> None:
    session.chdir(PROJECT)
    session.install("-q", "-c", ".ci/constraints.txt", "-e", f".[{extras}]")
