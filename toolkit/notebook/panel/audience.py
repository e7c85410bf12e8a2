"""Whose page this is: the owner's of the machine, or that of visitors to whom a server shows the notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolkit.notebook.panel.problems import Problem

NO_CASSETTE_NAMED: Final = Problem("cassette", "This notebook names no cassette to replay.")
_SERVED_AS: Final = "voila/"
_OF_VOILA: Final = "VOILA_"
_URL: Final = re.compile(r"\S+://\S+")
_PATH: Final = re.compile(r"[/\\]")


def is_for_visitors(environ: Mapping[str, str]) -> bool:
    """Whether this kernel answers visitors: Voila starts one for each, and tells it so.

    Of a kernel that it starts before anybody asks (`--preheat_kernel`) it sets neither the address of the
    request nor its own name, and only some of its variables; so any of them tells.

    Args:
        environ: environment variables of the kernel.
    """
    return environ.get("SERVER_SOFTWARE", "").lower().startswith(_SERVED_AS) or any(
        name.upper().startswith(_OF_VOILA) for name in environ
    )


def told_to_visitors(problem: Problem) -> Problem:
    """What visitors are told of a problem with files and settings: nothing of where they are, or what lies beside them.

    Args:
        problem: as the owner is told it.
    """
    if not _PATH.search(_URL.sub("", f"{problem.what} {problem.next_step}")):
        return problem
    return Problem(
        problem.place, "This page is not set up for that.", "Choose something else, or tell whoever keeps it."
    )
