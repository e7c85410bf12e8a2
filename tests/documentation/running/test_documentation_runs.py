"""The blocks of every page run, in their order, in a process and a project folder of their own.

The processes of pages, and those of `toolkit` in blocks of sh, are forks of one that has imported what takes long
(`warm_interpreter`); `python` and `pytest` start as usual. One practice service serves all pages. Its addresses and
credentials for all four environments are in the variables of the process, so `tk.Session("paper")` works; the profile
of the variables is "default", with client secrets for broker partners. `documented_blocks` says what a block may be.

    pytest --gate tests/documentation/running -k how-to/test-with-recordings
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import warm_client
from documented_blocks import ROOT, blocks_of, page_files
from notebook_files import write_notebook

import toolkit as tk
from toolkit.auth.profiles.fields import DEFAULT, variable
from toolkit.local.variables import variable_name

WARM = Path(__file__).with_name("warm_interpreter.py")
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
        variables |= {name: secrets.token_urlsafe(24) for name in OTHER_SECRETS}
        yield variables


def without_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Leave out variables that say what the toolkit and other programs do."""
    return {name: text for name, text in variables.items() if not name.startswith(("TOOLKIT_", "XDG_", "PYTEST_"))}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the warm interpreter, and return the path of its socket."""
    folder = tmp_path_factory.mktemp("warm")
    address = str(folder / "socket")
    variables = {
        **without_settings(os.environ),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(folder),
        "OPENBLAS_NUM_THREADS": "1",  # a fork has only the thread that forks
    }
    with subprocess.Popen([sys.executable, str(WARM), address], env=variables, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield address
        process.terminate()


def run(page: str, folder: Path, warm: str, service_variables: dict[str, str]) -> tuple[int, str]:
    """Run the blocks of a page in a new project folder below a new home folder; return status and output."""
    project = folder / "home" / "project"
    project.mkdir(parents=True)
    (project / "toolkit.toml").write_text("", encoding="utf-8")
    (project / "cassettes").mkdir()
    shutil.copy(ROOT / "cassettes" / "tour.yaml", project / "cassettes")
    write_notebook(project / "notebooks" / "report.ipynb", NOTEBOOK)
    programs = folder / "bin"
    programs.mkdir()
    python = shlex.quote(sys.executable)
    for name, command in {
        "python": python,
        "pytest": f"{python} -m pytest",
        "toolkit": f"{python} -IS {shlex.quote(warm_client.__file__)} {shlex.quote(warm)} toolkit",
    }.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    variables = {
        **without_settings(os.environ),
        **service_variables,
        "HOME": str(project.parent),
        "USERPROFILE": str(project.parent),
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(Path(warm).parent),
    }
    output = folder / "output"
    with output.open("wb") as written, Path(os.devnull).open("rb") as nothing:
        streams = [nothing.fileno(), written.fileno(), written.fileno()]
        status = warm_client.call(warm, ["page", page], str(project), variables, streams, SECONDS)
    return status, output.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path, warm: str, service_variables: dict[str, str]) -> None:
    """Every block of the page ends well."""
    status, output = run(page, tmp_path, warm, service_variables)
    assert status == 0, output


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
    text: str, place: str, said: str, tmp_path: Path, warm: str, service_variables: dict[str, str]
) -> None:
    """A block that fails is named by its file and the line of its fence."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    status, output = run(os.path.relpath(page, ROOT), tmp_path, warm, service_variables)
    assert status == 1
    assert f"page.md{place}" in output
    assert said in output
