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
from toolkit.core.arguments import as_mapping, wrong_type
from toolkit.core.document import ADDRESS_NAMES, DEFAULT_HEADER_PREFIX
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.text import badge, card, code, excerpt
from toolkit.core.tracebacks import frameless
from toolkit.local.dotenv import exported_by
from toolkit.local.files import expanded
from toolkit.local.folders import SETTINGS_FILE, current_project, how_to_name_project
from toolkit.local.settings_checks import (
    check_inside,
    check_key,
    check_known,
    check_sharing,
    checked_verify,
    listed,
    lists_of,
    quoted,
)
from toolkit.local.toml_text import read_toml
from toolkit.local.variables import (
    CASSETTES_VARIABLE,
    PREFIX_VARIABLE,
    VERIFY_VARIABLE,
    addresses_from,
    variable_name,
)

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
                f"The header prefix {quoted(self.header_prefix)} cannot start a header name.",
                "Use letters, digits and single hyphens, such as SVC.",
                about="header_prefix",
            )
        if not isinstance(self.cassettes, str | Path):
            raise ConfigurationError(
                f"The cassettes folder is {type(self.cassettes).__name__}, not a path.",
                'Write cassettes = "cassettes".',
                about="cassettes",
            )
        check_sharing(self.scan, self.publish, self.stale_after)
        checked_verify(self.verify, "")
        object.__setattr__(self, "scrubbing", MappingProxyType(lists_of(self.scrubbing)))
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
            values, project = read_toml(file), file.parent
        else:
            project = current_project(environ)
            file = project / SETTINGS_FILE
            values = read_toml(file) if file.is_file() else {}
        for key in values:
            check_key(key, _KEYS, file)
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
                verify=environ.get(VERIFY_VARIABLE) or checked_verify(values.get("verify"), str(file)),
            )
            # A variable comes from the user, unless the project's `.env` sets it.
            named_by = exported_by(project, beside=True).get(CASSETTES_VARIABLE) if cassettes else file
            if named_by is not None:
                check_inside(settings.cassettes, project, named_by)
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


def _parse(name: str, text: str) -> Address:
    return Address.parse(text, setting=f"The address {name}", about=name)
