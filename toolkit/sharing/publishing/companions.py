"""The files beside a published notebook: settings, requirements and a README, the same for the same notebook."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, version
from typing import Final

from toolkit.core.text import count_text

SETTINGS_COMMENT: Final = "# Written by `toolkit publish`: a copy to replay, without addresses and credentials."
REQUIREMENTS: Final = "requirements.txt"
README: Final = "README.md"
_TOOLKIT: Final = "service-access-toolkit"
_PLAIN_URL: Final = re.compile(r"https://[\w.:/~-]+", re.ASCII)  # without a user, a password and a query
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# They run the notebook, replay its recordings, or shape its outputs.
_PINNED: Final = (
    "anywidget",
    "httpx",
    "ipykernel",
    "ipython",
    "ipywidgets",
    "jupyterlab",
    "matplotlib",
    "nbclient",
    "numpy",
    "pandas",
    "pyarrow",
    "vcrpy",
)


@dataclass(frozen=True)
class CopiedContents:
    """The contents of a publication, for its README.

    Attributes:
        notebook: the path of the notebook in the folder, with "/".
        cassettes: the paths of the recordings.
        environments: names of the environments that were recorded.
        replaced: number of values that were replaced by stand-ins or placeholders.
    """

    notebook: str
    cassettes: tuple[str, ...]
    environments: tuple[str, ...]
    replaced: int


def settings_text(cassettes_folder: str) -> str:
    """Return a settings file that names the folder of the cassettes and nothing else."""
    escaped = cassettes_folder.replace("\\", "\\\\").replace('"', '\\"')
    return f'{SETTINGS_COMMENT}\ncassettes = "{escaped}"\n'


def requirements(sources: Iterable[str], pinned: Mapping[str, str] | None = None) -> str:
    """Return the requirements of a notebook: the toolkit, what it runs on, and what its code imports; versions pinned.

    Args:
        sources: the sources of its code cells.
        pinned: versions by the name of the distribution; by default those that are installed.
    """
    names = {*_PINNED, *_distributions_of(_imports_of(sources))} - {_TOOLKIT}
    versions = {name: _version(name) for name in names} if pinned is None else pinned
    lines = [f"{name}=={text}" for name, text in sorted(versions.items()) if text]
    toolkit = toolkit_requirement() or f"# {_unavailable_toolkit()}"
    return "\n".join([toolkit, *lines]) + "\n"


def toolkit_requirement() -> str:
    """Return the requirement that installs the toolkit from where it was installed here, or "" if readers cannot.

    They cannot use a folder of this machine, or an address with credentials. The name alone would then install
    whatever a package index has under it, which may be somebody else's package.
    """
    record = _direct_url()
    if record is None:
        return f"{_TOOLKIT}[lab]=={_version(_TOOLKIT)}"
    reference = reference_of(record)
    return f"{_TOOLKIT}[lab] @ {reference}" if reference else ""


def note_for_author() -> str:
    """Return what the author of a copy must know about its requirements, or ""."""
    requirement = toolkit_requirement()
    if not requirement:
        return "requirements.txt does not install the toolkit: tell your readers where to get it."
    place = requirement.partition(" @ ")[2]
    return f"requirements.txt installs the toolkit from {place}; the reader needs access to it." if place else ""


def _direct_url() -> str | None:
    """Return the record that pip leaves of where the toolkit came from (PEP 610), or None for a package index."""
    try:
        return distribution(_TOOLKIT).read_text("direct_url.json")
    except PackageNotFoundError:
        return ""


def _unavailable_toolkit() -> str:
    return f"Install {_TOOLKIT}[lab] {_version(_TOOLKIT)} first, from where the author of this copy has it."


def reference_of(direct_url: str) -> str:
    """Return the commit of a git repository as a requirement names it, or "" for a local path or one with credentials.

    Args:
        direct_url: the record that pip leaves of where a distribution came from (PEP 610).
    """
    try:
        record = json.loads(direct_url)
        url, commit, vcs = record["url"], record["vcs_info"]["commit_id"], record["vcs_info"]["vcs"]
        is_safe = _PLAIN_URL.fullmatch(url) and _COMMIT.fullmatch(commit)
    except (ValueError, LookupError, TypeError):
        return ""
    return f"git+{url}@{commit}" if is_safe and vcs == "git" and "subdirectory" not in record else ""


def readme_text(contents: CopiedContents) -> str:
    """Return the README, with the one command that runs the notebook."""
    name = contents.notebook.rpartition("/")[2].removesuffix(".ipynb")
    recordings = "\n".join(f"- `{cassette}`" for cassette in contents.cassettes)
    replaced = (
        f"{count_text(contents.replaced, 'value').capitalize()} of the recordings, such as personal data, "
        f"{'has' if contents.replaced == 1 else 'have'} a stand-in or a placeholder instead, everywhere the same one."
        if contents.replaced
        else "No values were replaced besides credentials, which no recording holds."
    )
    before = "" if toolkit_requirement() else f"{_unavailable_toolkit()} Then, in this folder"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    recorded_in = f" from {' and '.join(contents.environments)}" if contents.environments else ""
    return f"""# {name}

A notebook with the recordings that it replays. It runs without a network, credentials and configuration, and sends
nothing. {before or "In this folder"}:

```
{run_command(contents.notebook)}
```

This installs what `{REQUIREMENTS}` lists (better in a new virtual environment), and opens the notebook in JupyterLab.
Its outputs were made with Python {python}; `toolkit verify "{contents.notebook}"` checks that they are the same here.

Recorded answers{recorded_in}:

{recordings}

{replaced}
"""


def run_command(notebook: str) -> str:
    """Return the command that runs a notebook in the folder of its copy."""
    return f'python -m pip install -r {REQUIREMENTS} && python -m jupyterlab "{notebook}"'


def _imports_of(sources: Iterable[str]) -> set[str]:
    """Return the top-level names of the modules that code imports; cells with magics are read line by line."""
    names: set[str] = set()
    for source in sources:
        for code in (source, *source.splitlines()):
            try:
                tree = ast.parse(code.strip())
            except (SyntaxError, ValueError, RecursionError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.split(".")[0])
    return names - sys.stdlib_module_names - {"toolkit"}


def _distributions_of(modules: set[str]) -> set[str]:
    if not modules:
        return set()
    installed = packages_distributions()
    return {name for module in modules for name in installed.get(module, ())[:1]}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
