"""Where the service is: eight addresses, the header prefix and the cassettes folder.

Settings come from `toolkit.toml` in the project's folder, then from TOOLKIT_* variables, which win.
They hold names and addresses only, never a credential.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, DEFAULT_HEADER_PREFIX
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.html import badge, card, code
from toolkit.local.project import SETTINGS_FILE, find_project

FILE_NAME: Final = SETTINGS_FILE
_HEADER_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*\Z")  # within a token of RFC 9110 section 5.6.2
_OTHER_VARIABLES = ("TOOLKIT_HEADER_PREFIX", "TOOLKIT_CASSETTES", "TOOLKIT_OFFLINE")
_CREDENTIAL_WORD = re.compile("secret|key|client|token|password|credential", re.IGNORECASE)
_RULES: Final = ("names", "json_paths", "patterns", "pseudonyms")
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})


def variable_name(address_name: str) -> str:
    """The environment variable of an address: `auth_sandbox` is TOOLKIT_AUTH_SANDBOX_URL."""
    return f"TOOLKIT_{address_name.upper()}_URL"


@dataclass(frozen=True, slots=True)
class Settings:
    """Addresses of the service, header prefix and cassettes folder.

    Attributes:
        addresses: name of an address (as in the service document, without `_url`) to its text,
            without a trailing slash. Those not given are missing only when a call needs them.
        header_prefix: prefix of the key headers (section 5.2 of the service document).
        cassettes: folder where cassettes named without a suffix live; relative to `project`.
        project: the folder of `toolkit.toml` or `pyproject.toml`, else the working directory.
        file: the settings file read, or looked for.
        scrubbing: what is taken out of recordings besides credentials: the table [scrubbing], with lists of texts
            as `toolkit.scrubbing.rules.model.Rules` has them.

    Raises:
        ConfigurationError: a name is unknown or a value malformed.
        UnsafeAddress: an address has userinfo, or is http beyond this machine.
    """

    addresses: Mapping[str, str] = field(default_factory=dict, hash=False)
    header_prefix: str = DEFAULT_HEADER_PREFIX
    cassettes: str | Path = "cassettes"
    project: Path = field(default_factory=lambda: find_project(Path.cwd()), kw_only=True)
    file: Path | None = field(default=None, kw_only=True)
    scrubbing: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.addresses, Mapping):
            raise ConfigurationError(
                "addresses must be a table of names and URLs.", f"Names: {_listed(ADDRESS_NAMES)}."
            )
        addresses = {}
        for name, text in self.addresses.items():
            _known(name, ADDRESS_NAMES, "address")
            if not isinstance(text, str):
                raise ConfigurationError(
                    f"The address {name} is {type(text).__name__}, not text.", f'Write it like {name} = "https://...".'
                )
            addresses[name] = str(Address.parse(text, setting=f"The address {name}"))
        object.__setattr__(self, "addresses", MappingProxyType(addresses))
        if not isinstance(self.header_prefix, str) or not _HEADER_PREFIX.match(self.header_prefix):
            raise ConfigurationError(
                f"The header prefix {self.header_prefix!r} cannot start a header name.",
                "Use letters, digits and single hyphens, such as SVC.",
            )
        if not isinstance(self.cassettes, str | Path):
            raise ConfigurationError(
                f"The cassettes folder is {type(self.cassettes).__name__}, not a path.",
                'Write cassettes = "cassettes".',
            )
        object.__setattr__(self, "scrubbing", MappingProxyType(_lists(self.scrubbing)))

    def __repr__(self) -> str:
        known = ", ".join(self.addresses) or "no addresses"
        return f"<Settings {known}; headers {self.header_prefix}-*; cassettes in {self.cassettes}>"

    def _repr_html_(self) -> str:
        return _card(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy is neither pickled nor copied; a dict is, and is checked anew at the other end.
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        tables = {"addresses": dict(self.addresses), "scrubbing": dict(self.scrubbing)}
        return partial(type(self), **{**values, **tables}), ()

    @classmethod
    def load(
        cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> Settings:
        """Read `toolkit.toml`, then the TOOLKIT_* variables, which win.

        Args:
            path: the file; without it `toolkit.toml` of the project that `folder` is in, if it exists.
            environ: environment variables, by default those of the process.
            folder: where to start looking upward, by default the working directory.

        Raises:
            ConfigurationError: the file is missing (only when asked for), unreadable or malformed, or a
                variable's name is nearly one of ours.
            UnsafeAddress: an address has userinfo, or is http beyond this machine.
        """
        environ = os.environ if environ is None else environ
        if path is not None:
            file = _expanded(path).absolute()
            values, project = _read_toml(file), file.parent
        else:
            project = find_project(folder or Path.cwd())
            file = project / FILE_NAME
            values = _read_toml(file) if file.is_file() else {}
        for key in values:
            _refuse_credentials(key, file)
            _known(key, ("addresses", "header_prefix", "cassettes", "scrubbing"), "setting", where=f" in {file}")
        addresses = values.get("addresses", {})
        if not isinstance(addresses, dict):
            raise ConfigurationError(f"addresses in {file} must be a table.", f"Names: {_listed(ADDRESS_NAMES)}.")
        addresses = {**addresses, **_addresses_from(environ)}
        try:
            return cls(
                addresses,
                environ.get("TOOLKIT_HEADER_PREFIX") or values.get("header_prefix", DEFAULT_HEADER_PREFIX),
                environ.get("TOOLKIT_CASSETTES") or values.get("cassettes", "cassettes"),
                project=project,
                file=file,
                scrubbing=values.get("scrubbing", {}),
            )
        except (ConfigurationError, UnsafeAddress) as error:
            raise type(error)(error.what, f"{error.next_step} Looked at {file} and the TOOLKIT_* variables.") from None

    def address(self, name: str) -> Address:
        """The address of this name.

        Raises:
            ConfigurationError: it is not set; names the setting, the variable and the file looked at.
        """
        text = self.addresses.get(name)
        if text is None:
            looked_at = f" (looked at {self.file})" if self.file else ""
            raise ConfigurationError(
                f"The address {name} is not set.",
                f'Set {name} = "https://..." under [addresses] in {FILE_NAME}{looked_at}, '
                f"or the variable {variable_name(name)}.",
            )
        return Address.parse(text, setting=f"The address {name}")

    @property
    def cassettes_folder(self) -> Path:
        """The folder of cassettes as an absolute path."""
        return (self.project / _expanded(self.cassettes)).absolute()


def as_settings(settings: Settings | None) -> Settings:
    """Those given, else those of the project and the TOOLKIT_* variables.

    Raises:
        ConfigurationError: what is given is none, or a setting is malformed.
    """
    if settings is None:
        return Settings.load()
    if isinstance(settings, Settings):
        return settings
    raise ConfigurationError(
        f"The settings are Settings, not {type(settings).__name__}.",
        f'Give tk.Settings.load("{FILE_NAME}"), tk.Settings(addresses={{"auth_sandbox": "https://..."}}), or nothing.',
    )


def is_offline(environ: Mapping[str, str] | None = None) -> bool:
    """Whether TOOLKIT_OFFLINE asks for replay only.

    Raises:
        ConfigurationError: its value is neither a yes nor a no.
    """
    value = (os.environ if environ is None else environ).get("TOOLKIT_OFFLINE", "").strip().lower()
    if value not in _TRUE | _FALSE:
        raise ConfigurationError(f"TOOLKIT_OFFLINE is {value!r}, neither yes nor no.", "Set it to 1 or 0.")
    return value in _TRUE


def _lists(scrubbing: Any) -> dict[str, tuple[str, ...]]:
    """The table [scrubbing]; that its texts mean something, whoever follows them finds out."""
    if not isinstance(scrubbing, Mapping):
        raise ConfigurationError("scrubbing must be a table.", f"Its lists: {_listed(_RULES)}.")
    lists = {}
    for name, texts in scrubbing.items():
        _known(name, _RULES, "rule", where=" of scrubbing")
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise ConfigurationError(f"{name} of scrubbing is no list of texts.", f'Write it like {name} = ["..."].')
        lists[name] = tuple(texts)
    return lists


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigurationError(f"There is no home folder for {path}.", "Write the path in full.") from None


def _addresses_from(environ: Mapping[str, str]) -> dict[str, str]:
    names = {variable_name(name): name for name in ADDRESS_NAMES}
    known = (*names, *_OTHER_VARIABLES)
    for variable in sorted(environ):
        # TOOLKIT_ is a common word: a variable of another program is left alone, a slip of the pen is not.
        if variable.startswith("TOOLKIT_") and (variable.endswith("_URL") or _near(variable, known, cutoff=0.9)):
            _known(variable, known, "variable")
    return {name: environ[variable] for variable, name in names.items() if environ.get(variable)}


def _read_toml(file: Path) -> dict[str, Any]:
    import tomllib  # not every project has a file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))  # Windows editors like a byte order mark
    except FileNotFoundError:
        raise ConfigurationError(f"There is no settings file {file}.", "Create it, or leave the path out.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"Cannot read {file}: {reason}.", "Mend or remove the file.") from None
    except tomllib.TOMLDecodeError as error:
        # The parser's message names line and column; it never quotes more than one character.
        raise ConfigurationError(f"{file} is not valid TOML: {error}.", "Mend that line.") from None


def _refuse_credentials(key: str, file: Path) -> None:
    """A project's file is shared with the project; the value is not quoted, nor the name, which may be one."""
    if _CREDENTIAL_WORD.search(key):
        raise ConfigurationError(
            f"{file} has a setting that looks like a credential.",
            "Credentials do not belong in a project's file. Take it out, change it where it was shared, and save it "
            "with tk.save_credentials(), or give it in a variable such as TOOLKIT_PAPER_SECRET_KEY.",
        )


def _known(name: str, names: Iterable[str], noun: str, *, where: str = "") -> None:
    names = tuple(names)
    if name in names:
        return
    near = _near(name, names)
    advice = f"Did you mean {near[0]}?" if near else f"Known: {_listed(names)}."
    raise ConfigurationError(f"Unknown {noun} {name!r}{where}.", advice)


def _near(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """The name that comes nearest, as a list of one, or of none."""
    from difflib import get_close_matches  # slow to load, for misspelt names only

    return get_close_matches(str(name), list(names), n=1, cutoff=cutoff)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _card(settings: Settings) -> str:
    """The addresses of the service, and what else is set; the file and the folder as they were given."""
    rows = [(name, _address(settings, name)) for name in ADDRESS_NAMES]
    rows += [("header prefix", code(settings.header_prefix)), ("cassettes", code(str(settings.cassettes)))]
    given = len(settings.addresses)
    return card("Settings", [badge(f"{given} of {len(ADDRESS_NAMES)} addresses set")], rows)


def _address(settings: Settings, name: str) -> str:
    return code(settings.addresses[name]) if name in settings.addresses else "not set"
