"""Settings: the eight addresses of the service, the header prefix and the cassettes folder.

They come from `toolkit.toml` in the project folder and from TOOLKIT_* environment variables, which take precedence.
They never hold credentials.

Code and variables are the user's own word. A settings file may be anybody's, because projects are cloned and pulled.
So settings remember who names each of them: `toolkit.auth.destinations` compares what a file names with where the
credentials went before, and a file may not put cassettes outside its project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, DEFAULT_HEADER_PREFIX
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.escaping import excerpt
from toolkit.core.html import badge, card, code
from toolkit.core.words import nearest
from toolkit.local.files import expanded, lies_in
from toolkit.local.folders import SETTINGS_FILE, find_project
from toolkit.local.toml_text import read_toml

_HEADER_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*\Z")  # a subset of RFC 9110 section 5.6.2
_PREFIX_VARIABLE: Final = "TOOLKIT_HEADER_PREFIX"
_OTHER_VARIABLES = (_PREFIX_VARIABLE, "TOOLKIT_CASSETTES", "TOOLKIT_OFFLINE")
_CREDENTIAL_WORD = re.compile("secret|key|client|token|password|credential", re.IGNORECASE)
_RULES: Final = ("names", "json_paths", "patterns", "pseudonyms")
_LONG_NUMBER: Final = 10**9  # whose digits are not shown; Python refuses to write very long ones
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})


def variable_name(setting: str) -> str:
    """Return the environment variable of an address or `header_prefix`: TOOLKIT_AUTH_URL for `auth`."""
    return _PREFIX_VARIABLE if setting == "header_prefix" else f"TOOLKIT_{setting.upper()}_URL"


class Source(NamedTuple):
    """Where the text of a setting comes from.

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
        cassettes: folder of cassettes that are given by name; relative to `project`.
        project: the folder of `toolkit.toml` or `pyproject.toml`, else the working directory.
        file: the settings file that was read or looked for, or None.
        scrubbing: what to remove from recordings besides credentials: lists of texts, named like the
            arguments of `tk.Rules`.
        sources: where addresses and header prefix come from, by their names; what is missing comes from code.

    Raises:
        ConfigurationError: if a name is unknown or a value malformed; `about` is the setting.
        UnsafeAddress: if an address has userinfo, or is plain http to another machine.
    """

    addresses: Mapping[str, str] = field(default_factory=dict, hash=False)
    header_prefix: str = DEFAULT_HEADER_PREFIX
    cassettes: str | Path = "cassettes"
    project: Path = field(default_factory=lambda: find_project(Path.cwd()), kw_only=True)
    file: Path | None = field(default=None, kw_only=True)
    scrubbing: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True, hash=False)
    sources: Mapping[str, Source] = field(default_factory=dict, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.addresses, Mapping):
            raise ConfigurationError(
                "addresses must be a table of names and URLs.", f"Names: {_listed(ADDRESS_NAMES)}.", about="addresses"
            )
        addresses = {}
        for name, text in self.addresses.items():
            _check_known(name, ADDRESS_NAMES, "address")
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
        object.__setattr__(self, "scrubbing", MappingProxyType(_lists(self.scrubbing)))
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
        tables = {name: dict(values[name]) for name in ("addresses", "scrubbing", "sources")}
        return partial(type(self), **{**values, **tables}), ()

    @classmethod
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
        environ = os.environ if environ is None else environ
        if path is not None:
            file = expanded(path, about="path").absolute()
            values, project = read_toml(file), file.parent
        else:
            project = find_project(Path.cwd())
            file = project / SETTINGS_FILE
            values = read_toml(file) if file.is_file() else {}
        for key in values:
            _refuse_credentials(key, file)
            _check_known(key, ("addresses", "header_prefix", "cassettes", "scrubbing"), "setting", where=f" in {file}")
        addresses = values.get("addresses", {})
        if not isinstance(addresses, dict):
            raise ConfigurationError(
                f"addresses in {file} must be a table.", f"Names: {_listed(ADDRESS_NAMES)}.", about="addresses"
            )
        places: dict[str, Path | str] = dict.fromkeys([*addresses, "header_prefix"] if values else (), file)
        own = _addresses_from(environ)
        named = [*own, "header_prefix"] if environ.get(_PREFIX_VARIABLE) else own
        places |= {name: variable_name(name) for name in named}
        cassettes = environ.get("TOOLKIT_CASSETTES")
        try:
            settings = cls(
                {**addresses, **own},
                environ.get(_PREFIX_VARIABLE) or values.get("header_prefix", DEFAULT_HEADER_PREFIX),
                cassettes or values.get("cassettes", "cassettes"),
                project=project,
                file=file,
                scrubbing=values.get("scrubbing", {}),
            )
            if not cassettes:
                _check_inside(settings.cassettes, project, file)
            texts = {**settings.addresses, "header_prefix": settings.header_prefix}
            return replace(settings, sources={name: Source(place, texts[name]) for name, place in places.items()})
        except (ConfigurationError, UnsafeAddress) as error:
            next_step = f"{error.next_step} The settings come from {file} and the TOOLKIT_* variables."
            raise error.reworded(error.what, next_step) from None

    def address(self, name: str) -> Address:
        """Return the address with this name.

        Raises:
            ConfigurationError: if it is not set; names the setting, the variable and the file.
        """
        text = self.addresses.get(name)
        if text is None:
            place = f" (looked in {self.file})" if self.file else ""
            raise ConfigurationError(
                f"The address {name} is not set.",
                f'Set {name} = "https://..." under [addresses] in {SETTINGS_FILE}{place}, '
                f"or the variable {variable_name(name)}.",
                about=name,
            )
        return _parse(name, text)

    def place_of(self, name: str) -> Path | str:
        """Return what names an address, or `header_prefix`: the settings file, a variable, or "" for code."""
        source = self.sources.get(name)
        text = self.header_prefix if name == "header_prefix" else self.addresses.get(name)
        # `dataclasses.replace` with other addresses keeps the sources; those addresses come from code.
        return source.place if source is not None and source.text == text else ""

    @property
    def cassettes_folder(self) -> Path:
        """The cassettes folder as an absolute path.

        Raises:
            ConfigurationError: if no folder can have that path.
        """
        if "\0" in str(self.cassettes):
            raise ConfigurationError(
                "The path of the cassettes folder has a null character.",
                'Write cassettes = "cassettes".',
                about="cassettes",
            )
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


def is_offline() -> bool:
    """Return True if TOOLKIT_OFFLINE asks for replay only.

    Raises:
        ConfigurationError: if its value means neither yes nor no.
    """
    value = os.environ.get("TOOLKIT_OFFLINE", "").strip().lower()
    if value not in _TRUE | _FALSE:
        raise ConfigurationError(
            f"TOOLKIT_OFFLINE is {value!r}, which means neither yes nor no.",
            "Set it to 1 or 0.",
            about="TOOLKIT_OFFLINE",
        )
    return value in _TRUE


def _parse(name: str, text: str) -> Address:
    return Address.parse(text, setting=f"The address {name}", about=name)


def _lists(scrubbing: Any) -> dict[str, tuple[str, ...]]:
    """Return the lists of the table [scrubbing]. Only their types are checked here; `tk.Rules` checks the texts."""
    if not isinstance(scrubbing, Mapping):
        raise ConfigurationError("scrubbing must be a table.", f"It may have {_listed(_RULES)}.", about="scrubbing")
    lists = {}
    for name, texts in scrubbing.items():
        _check_known(name, _RULES, "rule", where=" of scrubbing")
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise ConfigurationError(
                f"{name} of scrubbing is not a list of texts.", f'Write it like {name} = ["..."].', about="scrubbing"
            )
        lists[name] = tuple(texts)
    return lists


def _check_inside(cassettes: str | Path, project: Path, file: Path) -> None:
    """Refuse a cassettes folder of a settings file that lies outside the project.

    Cassettes are written there, and what is there is replayed: neither is for the author of a cloned project to choose.
    """
    place = Path(cassettes)
    goes_elsewhere = place.is_absolute() or place.drive or ".." in place.parts or str(place).startswith("~")
    if goes_elsewhere or not lies_in(project / place, project):
        raise ConfigurationError(
            f"cassettes in {file} leads out of the folder of the project.",
            'Name a folder in the project, such as cassettes = "cassettes". For another folder, set the variable '
            "TOOLKIT_CASSETTES, or pass tk.Settings(cassettes=...) in code.",
            about="cassettes",
        )


def _addresses_from(environ: Mapping[str, str]) -> dict[str, str]:
    names = {variable_name(name): name for name in ADDRESS_NAMES}
    known = (*names, *_OTHER_VARIABLES)
    for variable in sorted(environ):
        # TOOLKIT_ is a common prefix: variables of other programs are ignored, misspelt ones are errors.
        if variable.startswith("TOOLKIT_") and (variable.endswith("_URL") or nearest(variable, known, cutoff=0.9)):
            _check_known(variable, known, "variable")
    return {name: environ[variable] for variable, name in names.items() if environ.get(variable)}


def _refuse_credentials(key: str, file: Path) -> None:
    """Refuse a setting that looks like a credential, without quoting it: even its name may be a secret."""
    if _CREDENTIAL_WORD.search(key):
        raise ConfigurationError(
            f"{file} has a setting that looks like a credential.",
            "Project files are shared, so they must not hold credentials. Remove it, replace the credential if the "
            "file was shared, and save it with tk.save_credentials() or set a variable such as "
            "TOOLKIT_PAPER_SECRET_KEY.",
        )


def _check_known(name: str, names: Iterable[str], noun: str, *, where: str = "") -> None:
    names = tuple(names)
    if name in names:
        return
    meant = nearest(str(name), names)
    advice = f"Did you mean {meant}?" if meant else f"Known: {_listed(names)}."
    raise ConfigurationError(f"Unknown {noun} {name!r}{where}.", advice, about=str(name))


def _quoted(value: Any) -> str:
    """Return a short text or number as a literal, and for any other value its type."""
    is_short = isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < _LONG_NUMBER)
    return repr(excerpt(value)) if isinstance(value, str) else repr(value) if is_short else type(value).__name__


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
