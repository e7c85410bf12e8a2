"""The composite actions: their steps run as on a runner, with the toolkit that they install themselves."""

import json
import shutil
from pathlib import Path

import pytest
from action_runner import run_action
from notebook_files import write_notebook

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def actions(tmp_path_factory, copy_repository):
    """Return the actions in a copy of the repository, as a runner downloads it: without what is not committed."""
    folder = tmp_path_factory.mktemp("downloaded")
    copy_repository(folder / "v1")
    return folder / "v1" / ".github" / "actions"


def test_scan(actions, git_project, runner_temp):
    """A secret fails the job and is annotated, and SARIF is written; without it the job succeeds."""
    planted = git_project.add("src/call me.py", f"\nclient_secret = '{git_project.secret}'\n")
    inputs = {"paths": "src\n\n", "sarif": "scan.sarif"}
    install, scan = run_action(actions / "scan", git_project.folder, runner_temp, inputs=inputs)
    assert install[0] == 0, install
    status, output = scan
    assert status == 1
    assert output.startswith("::error file=src/call me.py,line=2,title=Secret%3A secret field::")
    report = (git_project.folder / "scan.sarif").read_text()
    assert json.loads(report)["runs"][0]["results"][0]["ruleId"] == "secret/secret-field"
    assert git_project.secret not in output + report
    planted.write_text("client_secret = read()\n")
    assert [status for status, _ in run_action(actions / "scan", git_project.folder, runner_temp)] == [0, 0]


def test_inputs_are_no_code(actions, git_project, runner_temp):
    """What a workflow passes is never run by the shell, nor taken for an option."""
    evil = "$(touch hacked); `touch hacked`"
    inputs = {"paths": f"{evil}\n--help", "sarif": evil}
    results = run_action(actions / "scan", git_project.folder, runner_temp, inputs=inputs)
    assert results[-1][0] == 2
    assert not (git_project.folder / "hacked").exists()


def test_verify(actions, git_project, runner_temp):
    """A notebook whose outputs differ fails the job and is annotated; executed copies are saved."""
    write_notebook(git_project.folder / "notebooks" / "a.ipynb", "print(6 * 7)")
    install, verify = run_action(
        actions / "verify", git_project.folder, runner_temp, inputs={"save-notebooks": "executed"}
    )
    assert install[0] == 0, install
    assert verify[0] == 1, verify
    assert "::error file=notebooks/a.ipynb," in verify[1]
    executed = next((git_project.folder / "executed").rglob("a.ipynb"))
    shutil.copy(executed, git_project.folder / "notebooks")
    shutil.rmtree(git_project.folder / "executed")
    assert [status for status, _ in run_action(actions / "verify", git_project.folder, runner_temp)] == [0, 0]
