"""The steps to take about a finding: revoke the secret, clean the file, and take the file out of git's history.

The order matters. A secret that was shared stays known whatever happens to the file, so it is revoked first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolkit.core.escaping import masked, printable
from toolkit.core.shells import shell_word

PAGE: Final = "notebooks/how-to/after-a-leak.md"
FILE: Final = "FILE"  # stands for the path in a command
_CHECKPOINTS: Final = ".ipynb_checkpoints"
_RECORDINGS: Final = frozenset({".yaml", ".yml"})
_ARCHIVES: Final = frozenset(
    {".zip", ".gz", ".tgz", ".xz", ".bz2", ".tar", ".7z", ".whl", ".docx", ".xlsx", ".pptx", ".pdf"}
)
_LOGS: Final = frozenset({".log", ".out"})
_PICTURES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff"})

# How to revoke a secret, by words in its kind. The first entry that matches counts.
_ENDINGS: Final = (
    ("private key", "Make a new key pair, register its public key, and revoke the old key wherever it is registered."),
    ("cookie", "Sign out of all sessions of the account, which ends the cookie; otherwise change the password."),
    ("signed token, bearer token, token in a path", "Revoke the token where it was issued, unless it has expired."),
    ("webhook", "Delete the webhook where it was made, and make a new one."),
    ("password, basic, command line", "Change the password, also wherever else it is used."),
    (
        "known secret, in a call",
        "Revoke it where it was issued, and save its replacement with toolkit credentials add.",
    ),
)
_ENDING: Final = "Revoke it where it was issued, make a new one, and look there for what it was used for."


def advice_for(kind: str, path: Path | None = None, part: str = "") -> tuple[str, ...]:
    """Return the steps to take about a finding, in order.

    Args:
        kind: the kind of the finding.
        path: its file, for the steps about it; without it they are general.
        part: where in the file.
    """
    name = FILE if path is None else quoted(path)
    return (ending_for(kind), cleaning_for(path, part).replace(FILE, name), history_step(name))


def ending_for(kind: str) -> str:
    """Return how to revoke a secret of a kind, so that it opens nothing."""
    words = kind.lower()
    return next((text for names, text in _ENDINGS if any(name in words for name in names.split(", "))), _ENDING)


def cleaning_for(path: Path | None, part: str = "") -> str:
    """Return how to remove a secret from a file; commands have `FILE` in the place of its path."""
    if path is None:
        return "Remove it from the file."
    suffix = path.suffix.lower()
    if _CHECKPOINTS in path.parts:
        return "Delete the checkpoint, clean the notebook that it copies, and name .ipynb_checkpoints/ in .gitignore."
    if suffix == ".ipynb":
        return _cleaning_of_notebook(part)
    if suffix in _RECORDINGS:
        return f"If it is a recording: toolkit cassettes scrub {FILE}. If it holds settings, name a variable instead."
    if suffix == ".har":
        return f"Make a clean recording with toolkit cassettes import {FILE} NAME, and delete the file."
    if suffix in _ARCHIVES:
        return "Delete the file, and make it again from clean files."
    if suffix in _PICTURES:
        return "Delete the picture, and save it again without its texts."
    if suffix in _LOGS:
        return "Delete the file, and find what writes the secret into it."
    return "Take it out of the file: keep it in a variable, or save it with toolkit credentials add."


def _cleaning_of_notebook(part: str) -> str:
    if part.startswith("output"):
        return "Clear the outputs of the cell and save. With %load_ext toolkit, its next run masks known secrets."
    if part.startswith("widget"):
        return "Shut the kernel down, clear all outputs and save: that removes the state of widgets."
    if part.startswith("attachment"):
        return "Delete the attachment from the cell, and save the notebook."
    if part.startswith("metadata"):
        return "Remove it from the notebook's metadata (Property Inspector, Advanced Tools), and save the notebook."
    return 'Take it out of the cell: tk.Session("paper") uses saved credentials. Then clear the outputs and save.'


def history_step(name: str = FILE) -> str:
    """Return how to take a file of this name out of git's history."""
    return (
        f"If it was committed: git filter-repo --invert-paths --path {name} takes the file out of git's history, "
        "--replace-text the secret alone. Then push with --force, and let everybody clone again."
    )


def quoted(path: Path) -> str:
    """Return a path as a shell takes it, without characters that a terminal would not show."""
    return shell_word(masked(printable(path.as_posix()).replace("\n", " ")))
