"""Settings: the service's eight addresses, the header prefix and the cassettes folder.

They come from `toolkit.toml` in the project folder and from TOOLKIT_* environment variables, which take precedence.
They never contain credentials; the variables for credentials are in `toolkit.auth.profiles.fields`.

Code and variables come from the user. A settings file may come from anybody, because projects are cloned and pulled.
That is why settings remember the source of each value: `toolkit.auth.destinations` compares the addresses in a file
with those that the user allowed, a file may not put cassettes outside its project, and `check_trust` refuses
certificates and proxies that a project's `.env` sets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolkit.core.addresses import Address, is_loopback
from toolkit.core.document import ADDRESS_NAMES, DEFAULT_HEADER_PREFIX
from toolkit.core.errors import ConfigurationError, UnsafeAddress, as_choice, as_instance, as_mapping, wrong_type
from toolkit.core.text import excerpt, nearest
from toolkit.core.tracebacks import frameless
from toolkit.local.files import expanded, lies_in, parse_toml, read_text, shown
from toolkit.local.folders import HOW_TO_NAME_PROJECT, PROJECT_VARIABLE, SETTINGS_FILE, current_project, exported_by

# The environment variables of settings, keyed by setting name.
VARIABLES: Final = {
    **{name: f"TOOLKIT_{name.upper()}_URL" for name in ADDRESS_NAMES},
    "header_prefix": "TOOLKIT_HEADER_PREFIX",
    "cassettes": "TOOLKIT_CASSETTES",
    "verify": "TOOLKIT_VERIFY",
}
_OFFLINE_VARIABLE: Final = "TOOLKIT_OFFLINE"
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})
_KEYS: Final = ("addresses", "header_prefix", "cassettes", "verify", "scrubbing", "scan", "publish", "stale_after")
_CREDENTIAL_WORD: Final = re.compile("secret|key|client|token|password|credential", re.IGNORECASE)
_RULES: Final = ("names", "json_paths", "patterns", "pseudonyms")
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})d\Z")
_HEADER_PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*\Z")  # a subset of RFC 9110 section 5.6.2
_AUTHORITY_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # of OpenSSL and httpx; a path in code overrides them
_KEY_LOG_VARIABLE: Final = "SSLKEYLOGFILE"  # read by Python's ssl: the path of a TLS key log file
_PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")  # or in lower case


@dataclass(frozen=True, slots=True)
class Settings:
    """Addresses of the service, header prefix and cassettes folder.

    Attributes:
        addresses: URLs without a trailing slash, keyed by their names in the service document, minus the `_url` suffix.
            An address that is not set is an error only when a call needs it.
        header_prefix: prefix of the key headers (section 5.2 of the service document).
        cassettes: folder for cassettes that are given by name instead of by path; relative to `project`.
        project: the folder of `toolkit.toml` or `pyproject.toml`, else the working directory.
        file: the settings file that was read or looked for, or None.
        scrubbing: what to remove from recordings in addition to credentials: lists of strings, named like the arguments
            of `tk.Rules`.
        scan: the [scan] table, exactly as in the file; `tk.scan` checks it.
        publish: "as is" to publish recordings of real accounts without pseudonyms, or None to forbid it.
        stale_after: age in days at which a recording becomes stale, such as "180d"; None for never.
        verify: the certificate authorities that sessions trust by default: "system" for the machine's, the path of a CA
            certificate file relative to `project`, or None for httpx's default.
        sources: the settings file or variable that each setting comes from, keyed by setting or address name; settings
            that are not listed come from code.

    Raises:
        ConfigurationError: if a name is unknown or a value is invalid; `about` is the setting.
        UnsafeAddress: if an address contains userinfo, or uses plain HTTP to another machine.
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
    sources: Mapping[str, Path | str] = field(default_factory=dict, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        as_instance(self.project, Path, about="project", example="Path.cwd()")
        tables = {name: _table(name, getattr(self, name)) for name in ("addresses", "scrubbing", "scan", "sources")}
        for name, text in tables["addresses"].items():
            as_choice(name, ADDRESS_NAMES, about="addresses")
            tables["addresses"][name] = str(_parse(name, text))
        for name, texts in tables["scrubbing"].items():
            as_choice(name, _RULES, about="scrubbing")
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise _malformed("scrubbing", f"{name} under [scrubbing] is not a list of strings", f'{name} = ["..."]')
            tables["scrubbing"][name] = tuple(texts)  # `tk.Rules` checks the strings
        for name, table in tables.items():
            object.__setattr__(self, name, table)
        if not isinstance(self.header_prefix, str) or not _HEADER_PREFIX.match(self.header_prefix):
            what = "header_prefix is not valid in a header name: it may contain only letters, digits and single hyphens"
            raise _malformed("header_prefix", what, 'header_prefix = "SVC"')
        if not isinstance(self.cassettes, str | Path):
            raise _malformed("cassettes", "The cassettes folder is not a path", 'cassettes = "cassettes"')
        if self.publish not in (None, "as is"):
            what = "publish can only be 'as is', which allows recordings of real accounts without pseudonyms"
            raise _malformed("publish", what, 'publish = "as is"')
        if self.stale_after is not None and not (isinstance(self.stale_after, str) and _AGE.match(self.stale_after)):
            raise _malformed("stale_after", "stale_after is not an age in days", 'stale_after = "180d"')
        is_word = isinstance(self.verify, str) and self.verify.lower() in {*_TRUE, *_FALSE, "none"}
        if is_word or not isinstance(self.verify, str | Path | None):
            what = "verify cannot turn off certificate verification: it sets the certificate authorities to trust"
            raise _malformed("verify", what, 'verify = "system", or the path of a CA certificate file')

    def __repr__(self) -> str:
        names = ", ".join(self.addresses) or "no addresses"
        return f"<Settings {names}; headers {self.header_prefix}-*; cassettes in {excerpt(str(self.cassettes))}>"

    @classmethod
    @frameless
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the settings from `toolkit.toml` and the TOOLKIT_* variables, which take precedence.

        Args:
            path: the settings file; defaults to `toolkit.toml` in the current project's folder, if it exists.
            environ: environment variables; defaults to `os.environ`.

        Raises:
            ConfigurationError: if the file given by `path` is missing, if the settings file is unreadable, is malformed
                or puts cassettes outside its project, or if a variable's name looks like a misspelt TOOLKIT_* variable.
            UnsafeAddress: if an address contains userinfo, or uses plain HTTP to another machine.
        """
        environ = os.environ if environ is None else as_mapping(environ, about="environ", example="os.environ")
        file = current_project(environ) / SETTINGS_FILE if path is None else expanded(path, about="path").absolute()
        values: dict[str, Any] = {}
        if path is not None or file.is_file():
            values = parse_toml(read_text(file, str(file), "Create or fix it."), str(file), "Fix that line.")
        if any(map(_CREDENTIAL_WORD.search, values)):  # not quoted: even the name of a setting may be a secret
            what = f"{file} has a setting that looks like a credential."
            raise ConfigurationError(what, "Remove it, as project files are shared; use tk.save_credentials().")
        try:
            for key in values:
                as_choice(key, _KEYS, about="setting")
            if values.get("verify") not in (None, "system"):
                what = "In a settings file, verify can only be 'system'. To trust other authorities, set TOOLKIT_VERIFY"
                raise _malformed("verify", what, 'verify = "system"')
            values["addresses"] = _table("addresses", values.get("addresses", {}))
            places: dict[str, Path | str] = {}
            if values["addresses"] or len(values) > 1:
                # A file that leaves the prefix out thereby chooses the default.
                places = dict.fromkeys(["header_prefix", *values, *values["addresses"]], file)
            for name, text in _settings_in(environ).items():
                (values["addresses"] if name in ADDRESS_NAMES else values)[name] = text
                places[name] = VARIABLES[name]
            settings = cls(**values, project=file.parent, file=file, sources=places)
            _check_cassettes(settings)
        except (ConfigurationError, UnsafeAddress) as error:
            next_step = f"{error.next_step} The settings come from {file} and the TOOLKIT_* variables."
            raise error.reworded(error.what, next_step) from None
        return settings

    def address(self, name: str) -> str:
        """Return the address with this name, without a trailing slash.

        Raises:
            ConfigurationError: if it is not set; the error names the setting, the variable and the file.
        """
        as_choice(name, ADDRESS_NAMES, about="name")
        text = self.addresses.get(name)
        if text is None:
            place, advice = (f" (looked in {self.file})", HOW_TO_NAME_PROJECT) if self.file else ("", "")
            raise ConfigurationError(
                f"The address {name} is not set.",
                f'Set {name} = "https://..." under [addresses] in {SETTINGS_FILE}{place}, or the variable '
                f"{VARIABLES[name]}, which is not read from .env. {advice}".rstrip(),
                about=name,
            )
        return text

    def place_of(self, name: str) -> Path | str:
        """Return where an address, `header_prefix` or `verify` is set: the file, a variable, or "" for code."""
        return self.sources.get(name, "")

    @property
    def stale_after_days(self) -> int | None:
        """Age in days at which a recording becomes stale; None for never."""
        return int(self.stale_after[:-1]) if self.stale_after else None

    @property
    def trusted(self) -> str | None:
        """The authorities that sessions trust: "system", an absolute file or folder path, or None for httpx's default.

        Raises:
            ConfigurationError: if the path begins with a home folder that does not exist.
        """
        if self.verify is None or self.verify == "system":
            return None if self.verify is None else "system"
        return str((self.project / expanded(self.verify, about="verify")).absolute())

    @property
    def cassettes_folder(self) -> Path:
        """The cassettes folder as an absolute path.

        Raises:
            ConfigurationError: if no folder can have that path.
        """
        return (self.project / expanded(self.cassettes, about="cassettes")).absolute()


def as_settings(settings: Settings | None) -> Settings:
    """Return the given settings; if None, load them from the project and the TOOLKIT_* variables.

    Raises:
        ConfigurationError: if the argument is of any other type, or a setting is malformed.
    """
    if settings is None:
        return Settings.load()
    return as_instance(settings, Settings, about="settings", example="tk.Settings.load()", expected="tk.Settings")


def is_offline() -> bool:
    """Return True if TOOLKIT_OFFLINE asks for replay only.

    Raises:
        ConfigurationError: if its value is neither yes nor no.
    """
    value = os.environ.get(_OFFLINE_VARIABLE, "").strip().lower()
    if value not in _TRUE | _FALSE:
        what = f"TOOLKIT_OFFLINE is {value!r}, which is neither yes nor no."
        raise ConfigurationError(what, "Set it to 1 or 0.", about=_OFFLINE_VARIABLE)
    return value in _TRUE


def check_trust(verify: Any, settings: Settings, *, needs_proxy: bool) -> Any:
    """Return the `verify` value for a session that may send: the argument, with True replaced by the setting, if set.

    The author of a project's `.env` could make sessions trust the author's server, write a TLS key log file, or use a
    proxy whose URL contains a variable that the editor expands to a secret. If a `.env` sets a variable for one of
    these purposes and the session would use it, UnsafeAddress is raised.

    Args:
        verify: the session's `verify` argument.
        settings: the session's settings.
        needs_proxy: True if the session takes its proxy from environment variables.
    """
    trusted = settings.trusted or True if verify is True else verify
    names = [_KEY_LOG_VARIABLE]
    if trusted is True or trusted == "system":
        names += _AUTHORITY_VARIABLES
    elif verify is True and settings.place_of("verify") == VARIABLES["verify"]:
        names.append(VARIABLES["verify"])
    hosts = (_parse(name, text).host for name, text in settings.addresses.items())
    if needs_proxy and not all(map(is_loopback, hosts)):
        names += _PROXY_VARIABLES
    names = [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
    exported = exported_by(settings.project, beside=VARIABLES["verify"] in names) if names else {}
    for name in names:
        if name in exported:
            raise UnsafeAddress(
                f"{shown(exported[name])} sets {name}, but a project file must not set trusted certificates, the "
                "proxy or a TLS key log file.",
                "Remove it from that file. Set it in your own environment, or pass verify= or proxy= in code.",
                about=name,
            )
    return trusted


def _settings_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in environment variables; raise an error if one looks like a misspelt TOOLKIT_* variable."""
    known = (*VARIABLES.values(), _OFFLINE_VARIABLE, PROJECT_VARIABLE)
    for variable in sorted(environ.keys() - known):
        # TOOLKIT_ is a common prefix: variables of other programs are ignored.
        if variable.startswith("TOOLKIT_") and (variable.endswith("_URL") or nearest(variable, known, cutoff=0.9)):
            meant = nearest(variable, known)
            raise ConfigurationError(f"Unknown variable {variable}.", f"Did you mean {meant}?", about=variable)
    return {name: environ[variable] for name, variable in VARIABLES.items() if environ.get(variable)}


def _parse(name: str, text: str) -> Address:
    return Address.parse(text, setting=f"The address {name}", about=name)


def _table(name: str, value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise wrong_type(name, "a table", value, f"In {SETTINGS_FILE}, write its entries under [{name}].")


def _malformed(about: str, what: str, example: str) -> ConfigurationError:
    return ConfigurationError(f"{what}.", f"Use a form such as {example}.", about=about)


def _check_cassettes(settings: Settings) -> None:
    """Raise an error if a settings file or a `.env` sets a cassettes folder outside the project.

    Cassettes are written to and replayed from this folder, so the author of a cloned project must not be able to put it
    outside the project.
    """
    source, project, folder = settings.place_of("cassettes"), settings.project, Path(settings.cassettes)
    if source == VARIABLES["cassettes"]:  # which comes from the user, unless the project's `.env` sets it
        source = exported_by(project, beside=True).get(source, "")
    if source and (str(folder).startswith("~") or not lies_in(project / folder, project)):
        raise ConfigurationError(
            f"The cassettes folder set in {source} is outside the project folder.",
            'Set a folder in the project, such as cassettes = "cassettes". For another folder, set the variable '
            "TOOLKIT_CASSETTES in your own environment, or pass tk.Settings(cassettes=...) in code.",
            about="cassettes",
        )
