"""The versions of Python that the package names are those that the workflow tests."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[1]


def test_versions():
    """Workflow, classifiers and the oldest version agree."""
    package = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    versions = [name.rpartition(" ")[2] for name in package["classifiers"] if "Python :: 3." in name]
    workflow = yaml.safe_load((PROJECT / ".github/workflows/tests.yml").read_text())
    assert workflow["jobs"]["versions"]["strategy"]["matrix"]["python"] == versions
    assert package["requires-python"] == f">={versions[0]}"
