"""Choose the notebooks that git says changed, and those that play a cassette that changed."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shlex
import subprocess
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.verification.notebook_files import NotANotebook, read_notebook

HEAD: Final = "HEAD"  # stands for what is not committed yet
_CASSETTE_SUFFIXES: Final = (".yaml", ".yml")
# Variables that git sets for its hooks. They would name another repository than that of the notebooks.
_OF_HOOKS: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
_MAGICS: Final = frozenset({"run_cell_magic", "run_line_magic"})  # what IPython makes of `%%` and `%`
_WORD: Final = re.compile(r"""[^\s"'(),=]+""")
_UNPARSABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)


def changed_notebooks(notebooks: Iterable[Path], since: str = HEAD) -> list[Path]:
    """Return the notebooks that changed or are new, and those that name a cassette that changed or is gone.

    A notebook names a cassette with a text in its code, or with `%%cassette NAME`. A name that is computed is not
    found. With code that cannot be parsed, it may name any. A notebook that git ignores does not count as changed.

    Args:
        notebooks: notebooks, in one or several repositories.
        since: a commit. What changed after this branch left it counts, and what is not committed.

    Raises:
        ConfigurationError: if a notebook is in no git repository, or the commit is not known there.
    """
    notebooks = list(notebooks)
    repositories: dict[Path, Path] = {}
    changes: dict[Path, set[Path]] = {}
    for folder in dict.fromkeys(_folder(path) for path in notebooks):
        repositories[folder] = repository = _repository(folder)
        if repository not in changes:
            changes[repository] = set(_changed_files(repository, since))
    cassettes = {file.stem for files in changes.values() for file in files if file.suffix in _CASSETTE_SUFFIXES}
    return [
        path
        for path in notebooks
        if {_folder(path) / path.name, path.resolve()} & changes[repositories[_folder(path)]]
        or (cassettes and _may_name(path, cassettes))
    ]


def _may_name(path: Path, cassettes: set[str]) -> bool:
    try:
        cells = read_notebook(path).cells
    except NotANotebook:
        return False  # it is verified, and fails, when it changes
    codes = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser's, about the user's code
            return any(not cassettes.isdisjoint(names_in_code(code)) for code in codes)
    except _UNPARSABLE:
        return True


def names_in_code(code: str) -> set[str]:
    """Return the texts in the code of a cell that may name a cassette, without folders and suffixes.

    Raises:
        SyntaxError: if it is not code of IPython.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    manager = TransformerManager()  # type: ignore[no-untyped-call]
    texts: set[str] = set()
    for node in ast.walk(ast.parse(manager.transform_cell(code))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MAGICS:
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    texts |= _texts_of_magic(argument.value)
    names = {re.split(r"[/\\]", text)[-1] for text in texts}
    return {Path(name).stem if name.endswith(_CASSETTE_SUFFIXES) else name for name in names}


def _texts_of_magic(text: str) -> set[str]:
    """Return the words of a magic's arguments or body, and the texts in it if it is code."""
    texts = set(_WORD.findall(text))
    for read in (shlex.split, names_in_code):
        with contextlib.suppress(*_UNPARSABLE):
            texts.update(read(text))
    return texts


def _folder(path: Path) -> Path:
    return path.parent.resolve()


def _repository(folder: Path) -> Path:
    """Return the top folder of the repository of a folder."""
    return Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")).resolve()


def _changed_files(repository: Path, since: str) -> Iterator[Path]:
    """Yield the files that changed, are new or are gone."""
    if since != HEAD:
        commit = _git(
            repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{since}^{{commit}}", of=since
        )
        base = _git(repository, "merge-base", commit.strip(), HEAD, of=since).strip()
        for name in _git(repository, "diff", "--name-only", "--no-renames", "-z", base, HEAD, "--").split("\0")[:-1]:
            yield repository / name
    status = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
    for entry in _git(repository, *status).split("\0")[:-1]:
        yield repository / entry[3:]  # two letters and a space stand before the path


def _git(folder: Path, *arguments: str, of: str = "") -> str:
    """Run git in a folder and return its output; `of` is the commit that the user named."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        process = subprocess.run(  # noqa: S603 - git, with arguments that are checked
            command,
            env={**{name: value for name, value in os.environ.items() if name not in _OF_HOOKS}, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise ConfigurationError(
            "git is not installed, so it is not known what changed.",
            "Install git, or name the notebooks.",
            about="changed",
        ) from None
    if process.returncode == 0:
        return os.fsdecode(process.stdout)
    reason = excerpt(process.stderr.decode(errors="replace").strip().removeprefix("fatal: "))
    if of:
        raise ConfigurationError(
            f"git does not know how {folder} came from {excerpt(of, 60)!r}{f': {reason}' if reason else ''}.",
            "Name a branch or commit of this repository; in a shallow checkout fetch its history first "
            "(actions/checkout: fetch-depth: 0).",
            about="since",
        )
    raise ConfigurationError(
        f"git cannot say what changed in {folder}: {reason or 'it gives no reason'}.",
        "Run this in a git repository, or leave out --changed.",
        about="changed",
    )
