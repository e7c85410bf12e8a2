"""The blocks of every page run, in their order, in a process and a project folder of their own.

One practice service serves all pages. Its addresses and credentials for all four environments are in the variables of
the process, so `tk.Session("paper")` works; the profile of the variables is "default", with client secrets for broker
partners. `documented_blocks` says what a block may be.

    pytest --gate tests/documentation/running -k how-to/test-with-recordings
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from documented_blocks import ROOT, blocks_of, page_files
from notebook_files import write_notebook

import toolkit as tk
from toolkit.auth.profiles.fields import DEFAULT, decompose, variable
from toolkit.local.settings import VARIABLES

RUNNER = Path(__file__).with_name("page_runner.py")
# The notebook that pages call notebooks/report.ipynb; it plays a recording of the project.
NOTEBOOK = "import toolkit as tk\n\ntk.Session('broker-sandbox', cassette='tour').accounts()"
# Variables with secrets of other services, which a reader of some pages has.
OTHER_SECRETS = ("MAIL_PASSWORD", "TEAM_PSEUDONYMS_KEY", "VENDOR_KEY")
SECONDS = 300  # for a page
PAGES = [
    file.relative_to(ROOT).as_posix()
    for file in page_files()
    if any(block.kind in ("python", "ipython", "sh") and block.reason is None for block in blocks_of(file))
]


@pytest.fixture(scope="module")
def service_variables() -> Iterator[dict[str, str]]:
    """Run a practice service, and return the variables with which a reader's project would call it."""
    with tk.practice() as service:
        variables = {VARIABLES[name]: address for name, address in service.settings.addresses.items()}
        for name in ("live", "paper", "broker-secret", "sandbox-secret"):
            credentials = service.credentials[name]
            for field, secret in decompose(credentials).items():
                variables[variable(credentials.environment, DEFAULT, field)] = secret.reveal()
        variables |= {name: secrets.token_urlsafe(24) for name in OTHER_SECRETS}
        yield variables


def run(page: str, folder: Path, service_variables: dict[str, str]) -> tuple[int, str]:
    """Run the blocks of a page in a new project folder below a new home folder; return status and output."""
    project, programs = folder / "home" / "project", folder / "bin"
    project.mkdir(parents=True)
    programs.mkdir()
    (project / "toolkit.toml").write_text("", encoding="utf-8")
    (project / "cassettes").mkdir()
    shutil.copy(ROOT / "cassettes" / "tour.yaml", project / "cassettes")
    write_notebook(project / "notebooks" / "report.ipynb", NOTEBOOK)
    python = shlex.quote(sys.executable)
    for name, command in {
        "python": python,
        "pytest": f"{python} -m pytest",
        "toolkit": f"{python} -c 'from toolkit.cli import main; main()'",
    }.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    settings = ("TOOLKIT_", "XDG_", "PYTEST_")  # prefixes of variables that say what programs do
    variables = {
        **{name: text for name, text in os.environ.items() if not name.startswith(settings)},
        **service_variables,
        "HOME": str(project.parent),
        "USERPROFILE": str(project.parent),
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "MPLBACKEND": "Agg",
    }
    command = [sys.executable, str(RUNNER), page]
    done = subprocess.run(
        command,
        cwd=project,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path, service_variables: dict[str, str]) -> None:
    """Every block of the page ends well."""
    status, output = run(page, tmp_path, service_variables)
    assert status == 0, output
