"""The command that installs an extra of the toolkit, for the way in which the toolkit itself was installed."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from toolkit.core.errors import ConfigurationError
from toolkit.core.programs import program

_NAME: Final = "service-access-toolkit"
_CONSTRAINTS: Final = Path(".ci", "constraints.txt")  # of a checkout: the versions that its tests run with
_BY_UV: Final = re.compile(r"^uv\s*=", re.MULTILINE)


def _direct_url() -> str | None:
    """Return the text of `direct_url.json` (PEP 610), or None for a package from an index."""
    try:
        return distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class Installation:
    """The way in which this copy of the toolkit was installed.

    Attributes:
        prefix: the folder of the environment.
        direct_url: returns the text of `direct_url.json`, or None.
        folder: the working directory.
        is_windows: True on Windows.
        program: returns what to type for a program of the environment.
    """

    prefix: Path = Path(sys.prefix)
    direct_url: Callable[[], str | None] = _direct_url
    folder: Path | None = None
    is_windows: bool = os.name == "nt"
    program: Callable[[str], str] = program

    def command(self, extra: str) -> str:
        """Return what to type to install an extra, such as "lab"."""
        source, is_editable = self._checkout()
        quoted = self._quoted(f"{source or _NAME}[{extra}]")
        if (self.prefix / "uv-receipt.toml").is_file():
            return f"uv tool install --force {quoted}"
        if (self.prefix / "pipx_metadata.json").is_file():
            return f"pipx inject {_NAME} {quoted}"
        pip = "uv pip" if self._is_made_by_uv() else self.program("pip")
        words = ["py -m pip" if self.is_windows and pip == "pip" else pip, "install"]
        if source and (self._folder() / source / _CONSTRAINTS).is_file():
            constraints = (Path(source) / _CONSTRAINTS).as_posix()
            words += ["-c", constraints if source == "." else self._quoted(constraints)]
        return " ".join([*words, *(["-e"] if is_editable else []), quoted])

    def _checkout(self) -> tuple[str, bool]:
        """Return the folder that the package was installed from, "" for an index, and whether it is editable."""
        try:
            direct = json.loads(self.direct_url() or "{}")
            is_folder, address = "dir_info" in direct, urlsplit(direct["url"])
            folder = Path(url2pathname(address.path))
            is_editable = direct["dir_info"].get("editable") is True
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            return "", False
        if not is_folder or not (folder / "pyproject.toml").is_file():
            return "", False
        return "." if folder == self._folder() else str(folder), is_editable

    def _folder(self) -> Path:
        return self.folder or Path.cwd()

    def _quoted(self, text: str) -> str:
        return f'"{text}"' if self.is_windows or "'" in text else f"'{text}'"

    def _is_made_by_uv(self) -> bool:
        try:
            return _BY_UV.search((self.prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")) is not None
        except OSError:
            return False


def how_to_install(extra: str) -> str:
    """Return the next step of an error about a package that an extra would bring."""
    return f"Install the extra {extra}: {Installation().command(extra)}."


def not_installed(
    error: ModuleNotFoundError, packages: Collection[str], user: str, extra: str, *, about: str
) -> Exception:
    """Return the error to raise for a missing package: with advice if an extra brings it, else the error itself.

    Args:
        error: names the package.
        packages: the packages of the extra.
        user: what needs them, such as "A loan".
        extra: the extra.
        about: the argument or setting that the error is about.
    """
    if (error.name or "").partition(".")[0] not in packages:
        return error
    return ConfigurationError(f"{user} needs {error.name}, which is not installed.", how_to_install(extra), about=about)
