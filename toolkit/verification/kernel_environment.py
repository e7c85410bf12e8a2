"""What surrounds a kernel that verifies: an environment without the user's secrets, and folders of its own.

Nothing of the environment is handed on but what an allow-list names. The home, configuration and cache
folders are empty ones, so that neither saved credentials nor start-up files nor a history are found there.
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
# Where programs and libraries are found, and what Windows needs to start a process at all.
_HANDED_ON: Final = (
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
_LONGEST_SOCKET: Final = 100  # bytes of a socket's path; the least that systems allow is 103


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Folders of one kernel.

    Attributes:
        home: its home folder, empty at first.
        temporary: for its temporary files.
        channels: how the paths of its sockets begin.
        shared: for what kernels of one run may share, such as matplotlib's list of fonts.
    """

    home: Path
    temporary: Path
    channels: Path
    shared: Path

    @classmethod
    def make(cls, folder: Path, shared: Path) -> Surroundings:
        """Folders below `folder`, which is new and this user's alone."""
        made = cls(folder / "home", folder / "tmp", folder / "k", shared)
        for each in (made.home, made.temporary):
            each.mkdir(parents=True)
        return made

    @property
    def transport(self) -> str:
        """Of the kernel's channels: "ipc", sockets in the file system, where the system has room for their names."""
        fits = len(os.fsencode(self.channels)) + 2 <= _LONGEST_SOCKET
        return "ipc" if os.name == "posix" and fits else "tcp"

    def environment(self, outside: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the kernel, made of the one outside."""
        home = str(self.home)
        user_base = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {"PYTHONNOUSERSITE": "1"}
        # Absolute, for the kernel's working directory is another one.
        search_path = [os.path.abspath(each) for each in outside.get("PYTHONPATH", "").split(os.pathsep) if each]  # noqa: PTH100
        return {
            **{name: outside[name] for name in _HANDED_ON if name in outside},
            **user_base,
            "PYTHONPATH": os.pathsep.join([str(_BOOTSTRAP), *search_path]),
            "NOTEBOOK_CHANNELS": self.transport,
            "TOOLKIT_OFFLINE": "1",
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
            # The same on every machine and at every hour.
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "80",
            "LINES": "24",
            "SOURCE_DATE_EPOCH": "946684800",  # 1 January 2000; what a picture says it was made on
            "IPYKERNEL_CELL_NAME": "<cell>",
            "PYTHONDONTWRITEBYTECODE": "1",  # a notebook may lie in a folder that is not to be written to
        }

    def places(self, notebook: Path, project: Path) -> dict[str, str]:
        """Folders of this machine or this run that an output may name, and what stands for it; longest first."""
        named = {
            **{sysconfig.get_path(name): "<python>" for name in ("stdlib", "platstdlib")},
            **{sysconfig.get_path(name): "<packages>" for name in ("purelib", "platlib")},
            sys.prefix: "<python>",
            str(project): "<project>",
            str(notebook.parent): "<notebooks>",
            str(self.temporary): "<temporary>",
            str(self.home): "~",
        }
        if project == notebook.parent:
            named[str(project)] = "<project>"
        elif project in notebook.parent.parents:
            named[str(notebook.parent)] = f"<project>/{notebook.parent.relative_to(project).as_posix()}"
        for folder, stands_for in list(named.items()):
            named[os.path.realpath(folder)] = stands_for
        worth_it = {folder: named[folder] for folder in named if len(Path(folder).parts) > 1}
        return dict(sorted(worth_it.items(), key=lambda item: -len(item[0])))
