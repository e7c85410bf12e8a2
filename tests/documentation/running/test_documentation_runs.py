"""The blocks of every page run, in their order, in a process and a project folder of their own.

One practice service serves all pages. Its addresses and credentials for all four environments are in the variables of
the process, so `tk.Session("paper")` works; the profile of the variables is "default", with client secrets for broker
partners. `documented_blocks` says what a block may be.

    pytest --gate tests/documentation/running -k how-to/test-with-recordings
"""

from __future__ import annotations

import os
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
from toolkit.auth.profiles.variables import DEFAULT, variable
from toolkit.local.settings import variable_name

RUNNER = Path(__file__).with_name("page_runner.py")
# The notebook that pages call notebooks/report.ipynb; it plays a recording of the project.
NOTEBOOK = "import toolkit as tk\n\ntk.Session('broker-sandbox', cassette='tour').accounts()"
# Programs that blocks of sh call, as arguments of the interpreter that runs the tests.
PROGRAMS = {
    "python": "",
    "pytest": "-m pytest",
    "toolkit": "-c 'import sys; from toolkit.cli import main; sys.exit(main())'",
}
PAGES = [
    file.relative_to(ROOT).as_posix()
    for file in page_files()
    if any(block.kind in ("python", "ipython", "sh") and block.reason is None for block in blocks_of(file))
]


@pytest.fixture(scope="module")
def service_variables() -> Iterator[dict[str, str]]:
    """Run a practice service, and return the variables with which a reader's project would call it."""
    with tk.practice() as service:
        variables = {variable_name(name): address for name, address in service.settings.addresses.items()}
        for name in ("live", "paper", "broker-secret", "sandbox-secret"):
            credentials = service.credentials[name]
            fields = (
                {"key_id": credentials.key_id.reveal(), "secret_key": credentials.secret_key.reveal()}
                if isinstance(credentials, tk.KeyPair)
                else {"client_id": credentials.client_id, "client_secret": credentials.client_secret.reveal()}
            )
            for field, text in fields.items():
                variables[variable(credentials.environment, DEFAULT, field)] = text
        yield variables


def run(page: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the blocks of a page in a new project folder below a new home folder."""
    project = folder / "home" / "project"
    project.mkdir(parents=True)
    (project / "toolkit.toml").write_text("", encoding="utf-8")
    (project / "cassettes").mkdir()
    shutil.copy(ROOT / "cassettes" / "tour.yaml", project / "cassettes")
    write_notebook(project / "notebooks" / "report.ipynb", NOTEBOOK)
    own = {name: text for name, text in os.environ.items() if not name.startswith(("TOOLKIT_", "XDG_", "PYTEST_"))}
    home = {"HOME": str(project.parent), "USERPROFILE": str(project.parent), "MPLBACKEND": "Agg"}
    programs = folder / "bin"
    programs.mkdir()
    for name, arguments in PROGRAMS.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    path = {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    command = [sys.executable, str(RUNNER), page]
    return subprocess.run(
        command,
        cwd=project,
        env={**own, **home, **path, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path, service_variables: dict[str, str]) -> None:
    """Every block of the page ends well."""
    done = run(page, tmp_path, service_variables)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a\n\n```python\nx = 1\n```\n\n```python\n\nassert x == 2\n```\n", ":7:", "line 9"),
        ("```sh\ntoolkit demo --nonsense\n```\n", ":1:", "No such option"),
        ("```python\n# a.py\nx = 3\n```\n\n```sh\npython -c 'import a; assert a.x == 4'\n```\n", ":6:", "Assertion"),
        ("```ipython\n%load_ext toolkit\n1 / 0\n```\n", ":1:", "division by zero"),
    ],
)
def test_failures_name_their_place(
    text: str, place: str, said: str, tmp_path: Path, service_variables: dict[str, str]
) -> None:
    """A block that fails is named by its file and the line of its fence."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    done = run(os.path.relpath(page, ROOT), tmp_path, service_variables)
    assert done.returncode == 1
    assert f"page.md{place}" in done.stdout
    assert said in done.stdout
