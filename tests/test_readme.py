"""What the README, some pages and the package state is so; `tests/documentation` runs code and follows links."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

import toolkit as tk

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_commands_are_marked_for_the_gate() -> None:
    """The gate finds the two commands that a reader copies: one line each, in a virtual environment."""
    commands = re.findall(r"<!-- ci: (\w+) -->\n```sh\n(.*)\n```", README)
    assert [name for name, _ in commands] == ["demo", "tests"]
    for _, command in commands:
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install")
        assert ".ci/constraints.txt" in command


def test_table_of_environments() -> None:
    """The row of each environment names the addresses and credentials that section 1 of the document gives it."""
    words = {"key pair": "key ID and secret key", "client secret": "client secret", "client key": "private key"}
    for environment in tk.Environment:
        row = next(line for line in README.splitlines() if line.startswith(f"| `{environment}` |"))
        holder, addresses, credentials = (cell.strip() for cell in row.strip("|").split("|")[1:])
        rules = environment.rules
        assert holder == rules.holder
        assert re.findall(r"`(\w+)`", addresses) == list(rules.addresses.values())
        assert {kind for kind, text in words.items() if text in credentials} == set(rules.credentials)


def yaml_blocks(page: str) -> list[Any]:
    text = (ROOT / "notebooks" / "how-to" / page).read_text(encoding="utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def test_hooks_exist() -> None:
    """The page about hooks shows all that the repository has."""
    (shown,) = yaml_blocks("check-before-each-commit.md")
    known = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in shown["repos"][0]["hooks"]] == [hook["id"] for hook in known]


def test_actions_exist() -> None:
    """The actions that a workflow uses are in the repository, with the inputs that it sets."""
    steps = [
        step for block in yaml_blocks("record-in-ci.md") for job in block["jobs"].values() for step in job["steps"]
    ]
    ours = [step for step in steps if "service-access-toolkit/" in step.get("uses", "")]
    assert len(ours) == 2
    for step in ours:
        folder = step["uses"].partition("@")[0].partition("service-access-toolkit/")[2]
        action = yaml.safe_load((ROOT / folder / "action.yml").read_text(encoding="utf-8"))
        assert set(step.get("with", {})) <= set(action["inputs"])


def test_python_versions() -> None:
    """The versions of Python that the package names are those that the workflow tests."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [name.rpartition(" ")[2] for name in package["classifiers"] if "Python :: 3." in name]
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    assert workflow["jobs"]["versions"]["strategy"]["matrix"]["python"] == versions
    assert package["requires-python"] == f">={versions[0]}"
