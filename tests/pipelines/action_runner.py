"""Run the steps of a composite action as a runner of GitHub Actions does, as far as the actions here need it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(inputs\.[\w-]+|steps\.[\w-]+\.outputs\.[\w-]+)\s*\}\}")


def run_action(folder, workspace, temp, *, inputs=None, environ=None):
    """Run the steps of the action in a folder, up to the first that fails.

    Args:
        folder: the folder with `action.yml`.
        workspace: the checkout, in which the steps run.
        temp: the runner's temporary folder.
        inputs: what the workflow says under `with`.
        environ: further variables of the job.

    Returns:
        exit status and output of each step that ran.
    """
    action = yaml.safe_load((folder / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    declared = action["inputs"]
    unknown = set(inputs or {}) - set(declared)
    assert not unknown, f"unknown inputs: {unknown}"
    values = {f"inputs.{name}": (inputs or {}).get(name, declared[name].get("default", "")) for name in declared}
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))},
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_ACTION_PATH": str(folder),
        "RUNNER_TEMP": str(temp),
        "RUNNER_OS": "Linux",
        **(environ or {}),
    }
    results = []
    for number, step in enumerate(action["runs"]["steps"]):
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an expression in a script lets its value run as code"
        own = {name: _evaluated(text, values) for name, text in step.get("env", {}).items()}
        outputs = Path(temp, f"outputs-{number}")
        outputs.touch()
        script = Path(temp, f"step-{number}.sh")
        script.write_text(step["run"], encoding="utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        process = subprocess.run(
            command,
            cwd=workspace,
            env={**variables, **own, "GITHUB_OUTPUT": str(outputs)},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = outputs.read_text(encoding="utf-8").splitlines()
        outputs.unlink()
        pairs = (line.partition("=") for line in lines)
        values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, _, value in pairs}
        results.append((process.returncode, process.stdout + process.stderr))
        if process.returncode:
            break
    return results


def _evaluated(text, values):
    """Return a text with the values of its expressions."""
    return _EXPRESSION.sub(lambda match: values.get(match[1], ""), text)
