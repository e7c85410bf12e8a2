"""The environment of a kernel that verifies: variables without the user's secrets, and folders of its own.

The kernel gets only the variables of an allow-list. Its home, configuration and cache folders are empty, so it finds
neither saved credentials nor start-up files nor a history.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

IN_KERNEL: Final = Path(__file__).resolve().parent / "in_kernel"
_BOOTSTRAP: Final = IN_KERNEL / "bootstrap"
# Where programs and libraries are, and what Windows needs to start a process.
_ALLOWED_VARIABLES: Final = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "SYSTEMROOT",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
)
_LONGEST_SOCKET: Final = 100  # bytes of a socket's path; every system allows at least 103


@dataclass(frozen=True, slots=True)
class KernelEnvironment:
    """Folders and variables of one kernel.

    Attributes:
        home: its home folder, empty at first.
        temporary: the folder of its temporary files.
        channels: the prefix of the paths of its sockets.
        shared: a folder that the kernels of one run share, for example for matplotlib's list of fonts.
        play_log: the folder in which kernels note what they play from cassettes; None for no notes.
    """

    home: Path
    temporary: Path
    channels: Path
    shared: Path
    play_log: Path | None = None

    @classmethod
    def create(cls, folder: Path, shared: Path, play_log: Path | None = None) -> KernelEnvironment:
        """Create the folders below `folder`, which is new and belongs to this user only."""
        environment = cls(folder / "home", folder / "tmp", folder / "k", shared, play_log)
        for path in (environment.home, environment.temporary):
            path.mkdir(parents=True)
        return environment

    @property
    def transport(self) -> str:
        """Transport of the kernel's channels: "ipc" (sockets in the file system) if their paths are short enough."""
        fits = len(os.fsencode(self.channels)) + 2 <= _LONGEST_SOCKET
        return "ipc" if os.name == "posix" and fits else "tcp"

    def variables(self, outside: Mapping[str, str]) -> dict[str, str]:
        """Return all environment variables of the kernel, made from those of this process."""
        home = str(self.home)
        user_base = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {"PYTHONNOUSERSITE": "1"}
        # Absolute, because the kernel has another working directory.
        search_path = [os.path.abspath(path) for path in outside.get("PYTHONPATH", "").split(os.pathsep) if path]  # noqa: PTH100
        return {
            **{name: outside[name] for name in _ALLOWED_VARIABLES if name in outside},
            **user_base,
            "PYTHONPATH": os.pathsep.join([str(_BOOTSTRAP), *search_path]),
            "TOOLKIT_OFFLINE": "1",
            **({} if self.play_log is None else {"TOOLKIT_PLAY_LOG": str(self.play_log)}),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "HOME": home,
            "USERPROFILE": home,
            "APPDATA": str(self.home / "AppData" / "Roaming"),
            "LOCALAPPDATA": str(self.home / "AppData" / "Local"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "IPYTHONDIR": str(self.home / ".ipython"),
            "JUPYTER_CONFIG_DIR": str(self.home / ".jupyter"),
            "JUPYTER_DATA_DIR": str(self.home / ".jupyter"),
            "JUPYTER_RUNTIME_DIR": str(self.temporary),
            "MPLCONFIGDIR": str(self.shared),
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.temporary)),
            # The same on every machine and at any time.
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "80",
            "LINES": "24",
            "SOURCE_DATE_EPOCH": "946684800",  # 1 January 2000, the date in images
            "IPYKERNEL_CELL_NAME": "<cell>",
            "PYTHONDONTWRITEBYTECODE": "1",  # the notebook's folder may be read-only
        }

    def placeholders(self, notebook: Path, project: Path) -> dict[str, str]:
        """Return folders of this machine or run that outputs may name, with their placeholders; longest first."""
        placeholders = {
            **{sysconfig.get_path(name): "<python>" for name in ("stdlib", "platstdlib")},
            **{sysconfig.get_path(name): "<packages>" for name in ("purelib", "platlib")},
            sys.prefix: "<python>",
            str(project): "<project>",
            str(notebook.parent): "<notebooks>",
            str(self.temporary): "<temporary>",
            str(self.home): "~",
        }
        if project == notebook.parent:
            placeholders[str(project)] = "<project>"
        elif project in notebook.parent.parents:
            placeholders[str(notebook.parent)] = f"<project>/{notebook.parent.relative_to(project).as_posix()}"
        for folder, placeholder in list(placeholders.items()):
            placeholders[os.path.realpath(folder)] = placeholder
        specific = {folder: text for folder, text in placeholders.items() if len(Path(folder).parts) > 1}
        return dict(sorted(specific.items(), key=lambda item: -len(item[0])))
