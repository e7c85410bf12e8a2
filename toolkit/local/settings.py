"""Settings: the eight addresses of the service, the header prefix and the cassettes folder.

They come from `toolkit.toml` in the project folder and from TOOLKIT_* environment variables, which take precedence.
They never hold credentials.

Code and variables come from the user. A settings file may come from anybody, because projects are cloned and pulled. So
settings remember the source of each value: `toolkit.auth.destinations` compares the addresses in a file with those that
the user allowed, and a file may not put cassettes outside its project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, DEFAULT_HEADER_PREFIX
from toolkit.core.errors import LONGEST_QUOTE, ConfigurationError, UnsafeAddress, as_mapping, wrong_type
from toolkit.core.text import badge, card, code, excerpt
from toolkit.core.tracebacks import frameless
from toolkit.local.files import expanded, lies_in, parse_toml, read_text
from toolkit.local.folders import SETTINGS_FILE, current_project, how_to_name_project
from toolkit.local.variables import (
    CASSETTES_VARIABLE,
    PREFIX_VARIABLE,
    VERIFY_VARIABLE,
    addresses_from,
    check_known,
    exported_by,
    listed,
    variable_name,
)

_CREDENTIAL_WORD = re.compile("secret|key|client|token|password|credential", re.IGNORECASE)
_RULES: Final = ("names", "json_paths", "patterns", "pseudonyms")
_AS_IS: Final = "as is"
_SYSTEM: Final = "system"
_NOT_A_PATH: Final = frozenset({"", "0", "1", "false", "true", "no", "yes", "off", "on", "none"})
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})d\Z")
_LONG_NUMBER: Final = 10**9  # whose digits are not shown; Python refuses to write very long ones
_HEADER_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*\Z")  # a subset of RFC 9110 section 5.6.2
VERIFY: Final = "verify"
_KEYS: Final = ("addresses", "header_prefix", "cassettes", "verify", "scrubbing", "scan", "publish", "stale_after")


class Source(NamedTuple):
    """The source of a setting.

    Attributes:
        place: the settings file, or the name of the variable.
        text: the text there, as the settings have it.
    """

    place: Path | str
    text: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Addresses of the service, header prefix and cassettes folder.

    Attributes:
        addresses: URLs without a trailing slash, by the names of the service document without `_url`. An address
            that is not set is an error only when a call needs it.
        header_prefix: prefix of the key headers (section 5.2 of the service document).
        cassettes: folder of cassettes that are named without a path; relative to `project`.
        project: the folder of `toolkit.toml` or `pyproject.toml`, else the working directory.
        file: the settings file that was read or looked for, or None.
        scrubbing: what to remove from recordings besides credentials: lists of texts, named like the
            arguments of `tk.Rules`.
        scan: the table [scan] as it is in the file; `tk.scan` checks it.
        publish: "as is" to publish recordings of real accounts without pseudonyms, or None to refuse.
        stale_after: age from which a recording counts as stale, in days: "180d"; None for never.
        verify: whose certificates sessions trust by default: "system" for those that the machine trusts, or the path of
            a file with certificate authorities, relative to `project`; None for those of httpx.
        sources: where addresses and header prefix come from, by their names; those without a source come from code.

    Raises:
        ConfigurationError: if a name is unknown or a value malformed; `about` is the setting.
        UnsafeAddress: if an address has userinfo, or is plain http to another machine.
    """

    addresses: Mapping[str, str] = field(default_factory=dict, hash=False)
    header_prefix: str = DEFAULT_HEADER_PREFIX
    cassettes: str | Path = "cassettes"
    project: Path = field(default_factory=current_project, kw_only=True)
    file: Path | None = field(default=None, kw_only=True)
    scrubbing: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True, hash=False)
    scan: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)
    publish: str | None = field(default=None, kw_only=True)
    stale_after: str | None = field(default=None, kw_only=True)
    verify: str | Path | None = field(default=None, kw_only=True)
    sources: Mapping[str, Source] = field(default_factory=dict, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.project, Path):
            raise wrong_type("project", "a Path", self.project, "For example project=Path.cwd().")
        as_mapping(self.sources, about="sources", example="{}")
        if not isinstance(self.addresses, Mapping):
            raise ConfigurationError(
                "addresses must be a table of names and URLs.", f"Names: {listed(ADDRESS_NAMES)}.", about="addresses"
            )
        addresses = {}
        for name, text in self.addresses.items():
            check_known(name, ADDRESS_NAMES, "address")
            addresses[name] = str(_parse(name, text))
        object.__setattr__(self, "addresses", MappingProxyType(addresses))
        if not isinstance(self.header_prefix, str) or not _HEADER_PREFIX.match(self.header_prefix):
            raise ConfigurationError(
                f"The header prefix {_quoted(self.header_prefix)} cannot start a header name.",
                "Use letters, digits and single hyphens, such as SVC.",
                about="header_prefix",
            )
        if not isinstance(self.cassettes, str | Path):
            raise ConfigurationError(
                f"The cassettes folder is {type(self.cassettes).__name__}, not a path.",
                'Write cassettes = "cassettes".',
                about="cassettes",
            )
        _check_sharing(self.scan, self.publish, self.stale_after)
        _checked_verify(self.verify, "")
        object.__setattr__(self, "scrubbing", MappingProxyType(_lists_of(self.scrubbing)))
        object.__setattr__(self, "scan", MappingProxyType(dict(self.scan)))
        object.__setattr__(self, "sources", MappingProxyType(dict(self.sources)))

    def __repr__(self) -> str:
        names = ", ".join(self.addresses) or "no addresses"
        return f"<Settings {names}; headers {self.header_prefix}-*; cassettes in {excerpt(str(self.cassettes))}>"

    def _repr_html_(self) -> str:
        rows = [(name, code(self.addresses[name]) if name in self.addresses else "not set") for name in ADDRESS_NAMES]
        rows += [("header prefix", code(self.header_prefix)), ("cassettes", code(str(self.cassettes)))]
        return card("Settings", [badge(f"{len(self.addresses)} of {len(ADDRESS_NAMES)} addresses set")], rows)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled or copied. The constructor checks the dict again and wraps it.
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        tables = {name: dict(values[name]) for name in ("addresses", "scrubbing", "scan", "sources")}
        return partial(type(self), **{**values, **tables}), ()

    @classmethod
    @frameless
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the settings of `toolkit.toml` and the TOOLKIT_* variables, which take precedence.

        Args:
            path: the settings file; by default `toolkit.toml` of the project of the working directory, if there is one.
            environ: environment variables; by default those of the process.

        Raises:
            ConfigurationError: if the file given by `path` is missing, a file is unreadable or malformed, it puts the
                cassettes outside its project, or the name of a variable looks like a misspelt TOOLKIT_* variable.
            UnsafeAddress: if an address has userinfo, or is plain http to another machine.
        """
        environ = os.environ if environ is None else as_mapping(environ, about="environ", example="os.environ")
        if path is not None:
            file = expanded(path, about="path").absolute()
            values, project = _read_toml(file), file.parent
        else:
            project = current_project(environ)
            file = project / SETTINGS_FILE
            values = _read_toml(file) if file.is_file() else {}
        for key in values:
            _check_key(key, file)
        addresses = values.get("addresses", {})
        if not isinstance(addresses, dict):
            raise ConfigurationError(
                f"addresses in {file} must be a table.", f"Names: {listed(ADDRESS_NAMES)}.", about="addresses"
            )
        places: dict[str, Path | str] = dict.fromkeys([*addresses, "header_prefix"] if values else (), file)
        own = addresses_from(environ)
        named = [*own, "header_prefix"] if environ.get(PREFIX_VARIABLE) else own
        places |= {name: variable_name(name) for name in named}
        if environ.get(VERIFY_VARIABLE):
            places[VERIFY] = VERIFY_VARIABLE
        cassettes = environ.get(CASSETTES_VARIABLE)
        try:
            settings = cls(
                {**addresses, **own},
                environ.get(PREFIX_VARIABLE) or values.get("header_prefix", DEFAULT_HEADER_PREFIX),
                cassettes or values.get("cassettes", "cassettes"),
                project=project,
                file=file,
                scrubbing=values.get("scrubbing", {}),
                scan=values.get("scan", {}),
                publish=values.get("publish"),
                stale_after=values.get("stale_after"),
                verify=environ.get(VERIFY_VARIABLE) or _checked_verify(values.get("verify"), str(file)),
            )
            # A variable comes from the user, unless the project's `.env` sets it.
            named_by = exported_by(project, beside=True).get(CASSETTES_VARIABLE) if cassettes else file
            if named_by is not None:
                _check_inside(settings.cassettes, project, named_by)
            texts = {
                **settings.addresses,
                "header_prefix": settings.header_prefix,
                VERIFY: str(settings.verify),
            }
            return replace(settings, sources={name: Source(place, texts[name]) for name, place in places.items()})
        except (ConfigurationError, UnsafeAddress) as error:
            next_step = f"{error.next_step} The settings come from {file} and the TOOLKIT_* variables."
            raise error.reworded(error.what, next_step) from None

    def address(self, name: str) -> Address:
        """Return the address with this name.

        Raises:
            ConfigurationError: if it is not set; names the setting, the variable and the file.
        """
        check_known(name, ADDRESS_NAMES, "address")
        text = self.addresses.get(name)
        if text is None:
            place = f" (looked in {self.file})" if self.file else ""
            advice = how_to_name_project() if self.file and not self.file.is_file() else ""
            raise ConfigurationError(
                f"The address {name} is not set.",
                f'Set {name} = "https://..." under [addresses] in {SETTINGS_FILE}{place}, '
                f"or the variable {variable_name(name)}, which is not read from .env. {advice}".rstrip(),
                about=name,
            )
        return _parse(name, text)

    def place_of(self, name: str) -> Path | str:
        """Return where an address, `header_prefix` or `verify` is set: the file, a variable, or "" for code."""
        source = self.sources.get(name)
        text = {**self.addresses, "header_prefix": self.header_prefix, VERIFY: str(self.verify)}.get(name)
        # `dataclasses.replace` with other addresses keeps the sources; those addresses come from code.
        return source.place if source is not None and source.text == text else ""

    @property
    def stale_after_days(self) -> int | None:
        """Age in days from which a recording counts as stale; None for never."""
        return int(self.stale_after[:-1]) if self.stale_after else None

    @property
    def trusted(self) -> str | None:
        """Whose certificates sessions trust: "system", the absolute path of a file or folder, or None for httpx's.

        Raises:
            ConfigurationError: if the path begins with a home folder that does not exist.
        """
        if self.verify in (None, "system"):
            return None if self.verify is None else "system"
        return str((self.project / expanded(self.verify, about=VERIFY)).absolute())

    @property
    def cassettes_folder(self) -> Path:
        """The cassettes folder as an absolute path.

        Raises:
            ConfigurationError: if no folder can have that path.
        """
        return (self.project / expanded(self.cassettes, about="cassettes")).absolute()


def as_settings(settings: Settings | None) -> Settings:
    """Return the settings, or for None those of the project and the TOOLKIT_* variables.

    Raises:
        ConfigurationError: if the argument is something else, or a setting is malformed.
    """
    if settings is None:
        return Settings.load()
    if isinstance(settings, Settings):
        return settings
    raise ConfigurationError(
        f"settings must be tk.Settings, not {type(settings).__name__}.",
        f'Use tk.Settings.load("{SETTINGS_FILE}") or tk.Settings(addresses={{"auth_sandbox": "https://..."}}), '
        "or leave the argument out.",
        about="settings",
    )


def _parse(name: str, text: str) -> Address:
    return Address.parse(text, setting=f"The address {name}", about=name)


def _lists_of(scrubbing: Any) -> dict[str, tuple[str, ...]]:
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


def _check_sharing(scan: Any, publish: Any, stale_after: Any) -> None:
    """Check the settings about scanning, publishing and old recordings."""
    if not isinstance(scan, Mapping):
        raise ConfigurationError("scan must be a table.", "It may have the list allow.", about="scan")
    if publish is not None and publish != _AS_IS:
        raise ConfigurationError(
            f"publish is {_quoted(publish)}.",
            f'Write publish = "{_AS_IS}" to publish recordings of real accounts without pseudonyms, or leave it out.',
            about="publish",
        )
    if stale_after is not None and not (isinstance(stale_after, str) and _AGE.match(stale_after)):
        raise ConfigurationError(
            f"stale_after is {_quoted(stale_after)}.",
            'Write an age in days, such as stale_after = "180d".',
            about="stale_after",
        )


def _checked_verify(verify: Any, place: str) -> str | Path | None:
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
            f"verify in {place} is {_quoted(verify)}.",
            f'A settings file may only say verify = "{_SYSTEM}". To trust the authorities in a file, set the variable '
            "TOOLKIT_VERIFY to its path, or pass verify= in code.",
            about="verify",
        )
    if isinstance(verify, Path) or (isinstance(verify, str) and verify.lower() not in _NOT_A_PATH):
        return verify
    raise ConfigurationError(
        f"verify is {_quoted(verify)}, but settings cannot change whether certificates are verified.",
        f'Write "{_SYSTEM}" or the path of a file with certificate authorities, or leave it out.',
        about="verify",
    )


def _check_inside(cassettes: str | Path, project: Path, file: Path) -> None:
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


def _check_key(key: str, file: Path) -> None:
    """Refuse a setting that is not known, is an address outside its table, or looks like a credential.

    The last is not quoted, because even its name may be a secret.
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
    check_known(key, _KEYS, "setting", where=f" in {file}")


def _quoted(value: Any) -> str:
    """Return a short text or number as a literal, and for any other value its type."""
    is_short = isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < _LONG_NUMBER)
    if isinstance(value, str):  # a long one may be a misplaced secret
        is_short = len(value) < LONGEST_QUOTE
    return repr(value) if is_short else "of that length" if isinstance(value, str) else type(value).__name__


def _read_toml(file: Path) -> dict[str, Any]:
    return parse_toml(read_text(file, str(file), "Create or fix it."), str(file), "Fix that line.", says_where=True)
