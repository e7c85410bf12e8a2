"""Find, read and write notebook files, and ask git which of them changed."""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import subprocess
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.local.files import write_atomically

SKIP_TAG: Final = "skip-execution"  # cells with this tag are not run
_KERNELSPEC: Final = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_EDITOR_KEYS: Final = frozenset({"execution", "ExecuteTime", "trusted"})  # of cells
SUFFIX: Final = ".ipynb"
_SKIPPED_FOLDERS: Final = frozenset({".ipynb_checkpoints", "__pycache__", "node_modules", "site-packages"})
_WORD: Final = re.compile(r"""[^\s"'(),=/\\]+""")


def find_notebooks(paths: Iterable[Path | str]) -> list[Path]:
    """Return each notebook given or found in a given folder once, without checkpoints and hidden folders."""
    notebooks: dict[Path, Path] = {}
    for path in map(Path, paths):
        found = [path] if path.suffix == SUFFIX and path.is_file() else []
        if path.is_dir():
            found = [file for file in sorted(path.rglob(f"*{SUFFIX}")) if file.is_file() and not _is_hidden(file, path)]
        if not found:
            what = "contains no notebooks" if path.is_dir() else "is not a notebook" if path.exists() else "is missing"
            raise ConfigurationError(
                f"{path} {what}.", f"Name files that end in {SUFFIX}, or folders with such files.", about="paths"
            )
        for file in found:
            notebooks.setdefault(file.resolve(), file)
    return list(notebooks.values())


def read_notebook(path: Path) -> dict[str, Any]:
    """Return the content of a notebook in format 4; strings that the file stores line by line are joined."""
    import nbformat
    from nbformat.v4.rwbase import rejoin_lines

    try:
        with warnings.catch_warnings(action="ignore"):  # nbformat's, about cells without ids
            notebook = nbformat.from_dict(json.loads(path.read_bytes()))  # type: ignore[no-untyped-call]
            nbformat.validate(notebook, version=4)
        content = dict(rejoin_lines(notebook))  # type: ignore[no-untyped-call]
        as_bytes(content)  # JSON can contain a lone surrogate, which UTF-8 cannot encode
    except Exception as error:  # noqa: BLE001 - nbformat and jsonschema fail in many ways on odd files
        reason = str(getattr(error, "message", error)).partition("\n")[0]
        raise ConfigurationError(
            f"{path.name} is not a notebook in format 4: {excerpt(reason, 100)}",
            "Restore it from the repository, or open it in JupyterLab and save it.",
            about="paths",
        ) from None
    return content


def is_skipped(cell: Mapping[str, Any]) -> bool:
    return SKIP_TAG in cell["metadata"].get("tags", ())


def with_outputs(stored: Mapping[str, Any], outputs: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return a notebook with each cell's new outputs, without the metadata that editors and runs add."""
    notebook: dict[str, Any] = copy.deepcopy(dict(stored))
    count = 0
    for cell, new in zip(notebook["cells"], outputs, strict=True):
        cell["metadata"] = {name: value for name, value in cell["metadata"].items() if name not in _EDITOR_KEYS}
        if cell["cell_type"] == "code" and not is_skipped(cell):
            count += bool(cell["source"].strip())
            cell["execution_count"] = count if cell["source"].strip() else None
            cell["outputs"] = [each | {"execution_count": count} if "execution_count" in each else each for each in new]
    metadata = {name: value for name, value in notebook["metadata"].items() if name not in ("widgets", "toolkit")}
    return notebook | {"metadata": metadata | {"kernelspec": _KERNELSPEC, "language_info": {"name": "python"}}}


def as_bytes(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a notebook as Jupyter writes it."""
    import nbformat
    from nbformat.v4 import writes_json

    text: str = writes_json(nbformat.from_dict(content))  # type: ignore[no-untyped-call]
    return text.encode() + b"\n"


def write_notebook(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, as_bytes(content))


def changed_notebooks(notebooks: Sequence[Path], since: str = "HEAD") -> list[Path]:
    """Return the notebooks that changed, are new, or name a cassette that changed or was deleted.

    A notebook names a cassette if a string in its code contains the name as a word, or if it uses `%%cassette NAME`.
    Computed names are not found. Code that cannot be parsed is assumed to name every cassette. Uncommitted changes
    count, as do changes since this branch diverged from the commit `since`. Ignored notebooks do not count as changed.
    """
    folders = {path.parent.resolve() for path in notebooks}
    changes = set[Path]().union(*(_changed_files(folder, since) for folder in folders))
    cassettes = {file.stem for file in changes if file.suffix in (".yaml", ".yml")}
    return [
        path
        for path in notebooks
        if {path.parent.resolve() / path.name, path.resolve()} & changes or (cassettes and _names(path, cassettes))
    ]


def _names(path: Path, cassettes: set[str]) -> bool:
    """Return True if the code of a notebook may name one of the cassettes."""
    from IPython.core.inputtransformer2 import TransformerManager

    transform = TransformerManager().transform_cell  # type: ignore[no-untyped-call]
    try:
        sources = [cell["source"] for cell in read_notebook(path)["cells"] if cell["cell_type"] == "code"]
        with warnings.catch_warnings(action="ignore"):  # the parser's, about the user's code
            nodes = [node for source in sources for node in ast.walk(ast.parse(transform(source)))]
    except (ConfigurationError, SyntaxError, ValueError, RecursionError):
        return True
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    words = {word for text in texts for word in _WORD.findall(text)}
    return bool(cassettes & {*words, *(Path(word).stem for word in words)})


def _changed_files(folder: Path, since: str) -> set[Path]:
    """Return the files in a folder's repository that changed, are new or were deleted."""
    repository = Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")).resolve()
    base = _git(repository, "merge-base", "--end-of-options", since, "HEAD").strip()
    changed = _git(repository, "diff", "--name-only", "--no-renames", "--ignore-submodules", "-z", base, "--")
    new = _git(repository, "ls-files", "--others", "--exclude-standard", "-z")
    return {repository / name for name in f"{changed}{new}".split("\0") if name}


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    # The variables that git sets for its hooks could point to a repository other than that of the notebooks.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.run(command, env=variables | {"LC_ALL": "C"}, capture_output=True, check=True)  # noqa: S603
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", b"git is not installed").decode(errors="replace").removeprefix("fatal: ")
        raise ConfigurationError(
            f"git cannot tell what changed in {folder}: {excerpt(reason)}.",
            "Pass notebooks that are in a git repository, and a commit in it; in a shallow checkout, fetch the history "
            "(actions/checkout: fetch-depth: 0).",
            about="since",
        ) from None
    return os.fsdecode(process.stdout)


def _is_hidden(path: Path, below: Path) -> bool:
    folders = path.relative_to(below).parts[:-1]
    return any(name in _SKIPPED_FOLDERS or name.startswith(".") for name in folders)
