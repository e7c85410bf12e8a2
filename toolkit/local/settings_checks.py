"""Checks of what a settings file says: names, types, and places that a shared file may not choose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from toolkit.core.arguments import LONGEST_QUOTE
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt, nearest
from toolkit.local.files import lies_in

_CREDENTIAL_WORD = re.compile("secret|key|client|token|password|credential", re.IGNORECASE)
_RULES: Final = ("names", "json_paths", "patterns", "pseudonyms")
_AS_IS: Final = "as is"
_SYSTEM: Final = "system"
_NOT_A_PATH: Final = frozenset({"", "0", "1", "false", "true", "no", "yes", "off", "on", "none"})
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})d\Z")
_LONG_NUMBER: Final = 10**9  # whose digits are not shown; Python refuses to write very long ones


def lists_of(scrubbing: Any) -> dict[str, tuple[str, ...]]:
    """Return the lists of the table [scrubbing]. Only their types are checked here; `tk.Rules` checks the texts."""
    if not isinstance(scrubbing, Mapping):
        raise ConfigurationError("scrubbing must be a table.", f"It may have {listed(_RULES)}.", about="scrubbing")
    lists = {}
    for name, texts in scrubbing.items():
        check_known(name, _RULES, "rule", where=" of scrubbing")
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise ConfigurationError(
                f"{name} of scrubbing is not a list of texts.", f'Write it like {name} = ["..."].', about="scrubbing"
            )
        lists[name] = tuple(texts)
    return lists


def check_sharing(scan: Any, publish: Any, stale_after: Any) -> None:
    """Check the settings about scanning, publishing and old recordings."""
    if not isinstance(scan, Mapping):
        raise ConfigurationError("scan must be a table.", "It may have the list allow.", about="scan")
    if publish is not None and publish != _AS_IS:
        raise ConfigurationError(
            f"publish is {quoted(publish)}.",
            f'Write publish = "{_AS_IS}" to publish recordings of real accounts without pseudonyms, or leave it out.',
            about="publish",
        )
    if stale_after is not None and not (isinstance(stale_after, str) and _AGE.match(stale_after)):
        raise ConfigurationError(
            f"stale_after is {quoted(stale_after)}.",
            'Write an age in days, such as stale_after = "180d".',
            about="stale_after",
        )


def checked_verify(verify: Any, place: str) -> str | Path | None:
    """Return the setting `verify`: "system", the path of a file with certificate authorities, or None.

    Only code and variables may name a file, and nothing turns verification off. A settings file may come from anybody,
    and its author could vouch for a server of their own.

    Args:
        verify: the value.
        place: the settings file that says so, or "" for code and variables.
    """
    if verify is None or verify == _SYSTEM:
        return None if verify is None else _SYSTEM
    if place:
        raise ConfigurationError(
            f"verify in {place} is {quoted(verify)}.",
            f'A settings file may only say verify = "{_SYSTEM}". To trust the authorities in a file, set the variable '
            "TOOLKIT_VERIFY to its path, or pass verify= in code.",
            about="verify",
        )
    if isinstance(verify, Path) or (isinstance(verify, str) and verify.lower() not in _NOT_A_PATH):
        return verify
    raise ConfigurationError(
        f"verify is {quoted(verify)}, but settings cannot change whether certificates are verified.",
        f'Write "{_SYSTEM}" or the path of a file with certificate authorities, or leave it out.',
        about="verify",
    )


def check_inside(cassettes: str | Path, project: Path, file: Path) -> None:
    """Refuse a cassettes folder that lies outside the project, if a settings file or a `.env` names it.

    Cassettes are written there, and files there are replayed: the author of a cloned project must not choose the
    folder.
    """
    place = Path(cassettes)
    goes_elsewhere = place.is_absolute() or place.drive or ".." in place.parts or str(place).startswith("~")
    if goes_elsewhere or not lies_in(project / place, project):
        raise ConfigurationError(
            f"cassettes in {file} leads out of the folder of the project.",
            'Name a folder in the project, such as cassettes = "cassettes". For another folder, set the variable '
            "TOOLKIT_CASSETTES in your own environment, or pass tk.Settings(cassettes=...) in code.",
            about="cassettes",
        )


def check_key(key: str, known: Iterable[str], file: Path) -> None:
    """Refuse a setting that is not known, is an address outside its table, or looks like a credential.

    The last is not quoted, because even its name may be a secret.

    Raises:
        ConfigurationError: if the key is refused.
    """
    if _CREDENTIAL_WORD.search(key):
        raise ConfigurationError(
            f"{file} has a setting that looks like a credential.",
            "Project files are shared, so they must not hold credentials. Remove it, replace the credential if the "
            "file was shared, and save it with tk.save_credentials() or set a variable such as "
            "TOOLKIT_PAPER_SECRET_KEY.",
        )
    if key in ADDRESS_NAMES:
        raise ConfigurationError(
            f"{key} in {file} stands outside the table of addresses.",
            f'Write it under a line [addresses], like {key} = "https://...".',
            about=key,
        )
    check_known(key, known, "setting", where=f" in {file}")


def check_known(name: str, names: Iterable[str], noun: str, *, where: str = "") -> None:
    """Refuse an unknown name, and suggest the one that was probably meant.

    Raises:
        ConfigurationError: if the name is not one of `names`.
    """
    names = tuple(names)
    if name in names:
        return
    text = excerpt(str(name))
    meant = nearest(text, names)
    advice = f"Did you mean {meant}?" if meant else f"Known: {listed(names)}."
    raise ConfigurationError(f"Unknown {noun} {text!r}{where}.", advice, about=text)


def quoted(value: Any) -> str:
    """Return a short text or number as a literal, and for any other value its type."""
    is_short = isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < _LONG_NUMBER)
    if isinstance(value, str):  # a long one may be a misplaced secret
        is_short = len(value) < LONGEST_QUOTE
    return repr(value) if is_short else "of that length" if isinstance(value, str) else type(value).__name__


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence."""
    return ", ".join(names)
