"""The base class of credentials, and functions that prompt for their values and check them.

Section 1, rule 5 of the service document: credentials for one account or environment are not accepted by another.

Constructors check every string with the `as_*` functions of this module, because httpx would quote an invalid string in
its error. These functions return the value to keep, or raise a ConfigurationError that names the argument but does not
quote its value. Call them only from a `frameless` function, because their stack frames contain the value.

Secrets are hidden while they are typed. The notebook file and IPython's history store the source of each cell, and
JupyterLab stores answers to `input()` in the notebook. The toolkit cannot remove them from there, so it warns the user.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import re
import shlex
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, wrong_type
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import frameless, shell

if TYPE_CHECKING:
    from toolkit.auth.authorizers import BearerAuthorizer
    from toolkit.auth.tokens.token import Token
    from toolkit.core.ledger import Clock

_USE_VARIABLES: Final = "Set environment variables instead."
_IN_SOURCE: Final = "The {} is in this cell, the notebook file and the IPython history. Remove it from all three, and"
_AT_INPUT: Final = "The {} was typed at an input() prompt; JupyterLab saves answers in outputs. Clear that output, and"
_inputs: Final[deque[Secret]] = deque(maxlen=50)
_PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


class Field(NamedTuple):
    """A credentials field, as profiles store it in variables, `.env` or saved files."""

    name: str
    argument: str = ""  # name of its argument and attribute, if different
    is_required: bool = False
    is_secret: bool = False  # a second field, `<name>_file`, may name a file with the value
    identifies: bool = False  # like the secret, credentials that differ in it count as different
    placeholder: str = ""  # name of the secret's placeholder in recordings
    read: Callable[[Secret], Any] = Secret.reveal  # converts the text to the argument
    write: Callable[[Any], Any] = lambda value: value  # converts the attribute to text; None omits the field

    def text_of(self, credentials: Credentials) -> Secret | None:
        """Return the value of this field of the credentials as text, or None if it is not set."""
        text = self.write(getattr(credentials, self.argument or self.name, None))
        return None if text is None else Secret(text if isinstance(text, Secret) else str(text))


class Credentials:
    """Credentials of any kind: immutable, never pickled, never shown.

    Attributes:
        kind: their kind, as in the service document.
        fields: the fields that a profile of this kind may have.
        environment: the one environment they belong to.
        name: name of the profile; distinguishes callers in recordings.
        loaded_from: a description of where they were loaded from; "" if they were created in code.
        binding: the destinations that they were saved for, by name; None unless they come from a saved profile.
        holds_secret: False if the secret is kept outside this process, so no encryption key can be derived from it.
        is_practice: True if a practice service made them; no other service accepts them.
    """

    kind: CredentialKind
    fields: ClassVar[tuple[Field, ...]] = ()
    environment: Environment
    name: str
    loaded_from: str
    binding: Mapping[str, str] | None
    is_practice: bool
    holds_secret = True

    def __init__(self, *, environment: Environment | str, name: str) -> None:
        self.environment = Environment(environment)
        rules = self.environment.rules
        if self.kind not in rules.credentials:
            uses = f"A {rules.holder} uses a {' or a '.join(sorted(rules.credentials))}."
            what = f"The environment {self.environment} does not accept a {self.kind}."
            raise CredentialsMismatch(what, uses, about="environment")
        self.name = as_profile_name(name)
        vars(self)["is_practice"] = False
        self.note_source("")

    def note_practice(self) -> None:
        """Note that a practice service made these credentials."""
        vars(self)["is_practice"] = True

    def note_source(self, loaded_from: str, binding: Mapping[str, str] | None = None) -> None:
        """Note where these credentials were loaded from, and the destinations that they were saved for."""
        vars(self).update(loaded_from=loaded_from, binding=binding)

    def where_to_correct(self) -> str:
        """Return a sentence that names the profile of refused credentials and the place to correct it.

        The sentence is empty for credentials made in code. It names no file, so that notebook output is the same on
        every machine.
        """
        if not self.loaded_from:
            return ""
        if self.binding is None:
            return f"The credentials come from the profile {self.name} in {self.loaded_from}: correct them there."
        command = f"toolkit credentials add {shlex.quote(self.name)} --environment {self.environment}"
        return f"The credentials come from the saved profile {self.name}; to replace them, run `{command}`."

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} for {self.environment}>"

    def __setattr__(self, attribute: str, value: Any = None) -> None:
        if hasattr(self, attribute):
            raise AttributeError(f"{type(self).__name__} is immutable; make new credentials instead")
        super().__setattr__(attribute, value)

    __delattr__ = __setattr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("credentials cannot be pickled; tk.lend(session, cluster) lends a session to a Dask cluster")

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        """Return all secrets, each with the name of its placeholder in recordings."""
        return tuple((each.placeholder, getattr(self, each.name)) for each in self.fields if each.placeholder)

    def proof(self) -> str:
        """Return the secret that authenticates the caller, in a canonical form, without IDs or options."""
        return self.secrets()[-1][1].reveal()

    def borrowing_authorizer(self, clock: Clock, number: Callable[[Token], int]) -> BearerAuthorizer | None:  # noqa: ARG002
        """Return an authorizer that borrows tokens for these credentials, or None if they obtain their own tokens."""
        return None

    def fingerprint(self) -> str:
        """Return a digest that is the same for equal credentials, so that they can share a token. Do not display it."""
        if "_fingerprint" not in vars(self):
            vars(self)["_fingerprint"] = Secret(hashlib.sha256(self.identity()).hexdigest())
        return str(vars(self)["_fingerprint"].reveal())

    def identity(self) -> bytes:
        """Return everything that a token depends on, including secrets."""
        fields = (each.text_of(self) for each in self.fields if each.identifies)
        texts = [self.kind, self.environment, self.proof(), *("" if text is None else text.reveal() for text in fields)]
        parts = (text.encode("utf-8", "surrogatepass") for text in texts)
        return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def as_text(value: object, about: str) -> str:
    """Check that a value is a string of printable ASCII characters without spaces at the ends, and return it."""
    if not isinstance(value, str):
        raise wrong_type(about, "text", value, "Pass it as a string.")
    if not value or not value.isascii() or not value.isprintable() or value != value.strip():
        label = about.replace("_", " ").replace(" id", " ID")
        flaw = "has a line break, a space at either end or a character outside printable ASCII" if value else "is empty"
        raise ConfigurationError(f"The {label} {flaw}.", "Copy it again exactly as it was issued.", about=about)
    return value


def as_optional_text(value: object, about: str) -> str | None:
    """Check a value as `as_text` does, but accept None."""
    return None if value is None else as_text(value, about)


def as_secret(value: object, about: str) -> Secret:
    """Check a string or Secret as `as_text` does, and return it as a Secret."""
    return Secret(as_text(value.reveal() if isinstance(value, Secret) else value, about))


def as_passphrase(value: object) -> Secret | None:
    """Return a passphrase, which may contain any characters, as a Secret. None stays None."""
    if value is None or (isinstance(value, str | Secret) and value):
        return None if value is None else Secret(value)
    raise ConfigurationError("The passphrase is empty or not text.", "Leave it out, or pass text.", about="passphrase")


def as_profile_name(value: object) -> str:
    """Check that a profile name is safe in file names and in recordings, and return it."""
    if isinstance(value, str) and _PROFILE_NAME.match(value):
        return value
    what = "This is not a valid profile name: a name has up to 64 letters, digits, dots, hyphens and underscores."
    raise ConfigurationError(what, 'Use a name that begins with a letter or digit, such as "default".', about="name")


def can_ask() -> bool:
    """Return True if the user can be prompted: in a terminal, or in a notebook whose front end accepts input."""
    kernel = getattr(shell(), "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    return sys.stdin is not None and sys.stdin.isatty()


@frameless
def ask_secret(question: str, prompt: Callable[[str], str] | None = None, *, next_step: str = _USE_VARIABLES) -> Secret:
    """Ask a question and return the answer as a Secret.

    `prompt` is the function that asks. By default, it hides the answer; pass `input` if the answer may be visible.
    `next_step` is the advice in the error message.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # raises before anything is typed
            return Secret((prompt or getpass.getpass)(question))
    except EOFError:
        reason = "the input has ended"
    except getpass.GetPassWarning:
        reason = "the terminal cannot hide what you type"
    raise ConfigurationError(f'"{question.strip(" :")}" was not answered: {reason}.', next_step, about="prompt")


def field_in_words(field: str) -> str:
    """Return the label of a field, such as "Key ID" for `key_id`."""
    words = field.replace("_", " ")
    return (words[0].upper() + words[1:]).replace(" id", " ID")


def warn_if_in_cell(secrets: Iterable[tuple[str, Secret]]) -> None:
    """Warn if the source of the running IPython cell, or an answer to its `input()`, contains one of these secrets.

    This does not import IPython, so it costs nothing outside a notebook. It raises an error only if warnings are turned
    into errors.
    """
    try:
        cells = shell().history_manager.input_hist_raw  # type: ignore[union-attr]
        number, source = len(cells) - 1, cells[-1]
    except Exception:  # noqa: BLE001 - no shell, or another kind of shell
        return
    answers = "\n".join(answer.reveal() for answer in tuple(_inputs))
    for text, message in ((source, _IN_SOURCE), (answers, _AT_INPUT)):
        for kind in dict.fromkeys(kind for kind, secret in secrets if _holds(text, secret.reveal())):
            label = kind.removeprefix("API_").lower().replace("_", " ").replace(" id", " ID")
            # The warning names only the cell, and the registry is empty: if it named a line, Python would print it with
            # the secret.
            warnings.warn_explicit(
                f"{message.format(label)} replace the value. Enter the new one with getpass.getpass(), or "
                "save it with `toolkit credentials add`.",
                UserWarning,
                filename=f"In [{number}]",
                lineno=1,
                module=__name__,
                registry={},
            )


def remember_input(answer: object) -> None:
    """Keep an answer to `input()` for a while, to recognize it if it turns out to be a secret."""
    if isinstance(answer, str) and len(answer) >= SHORTEST_SECRET:
        _inputs.append(Secret(answer))


def _holds(source: str, secret: str) -> bool:
    r"""Return True if source code contains a secret, or a line of it, verbatim or escaped as in a string literal.

    PEM text may be written with line breaks, with `\n` escapes, or with neither. So each line is searched for
    separately, except the BEGIN and END lines, which are not secret.
    """
    lines = [line.strip() for line in secret.splitlines()]
    parts = lines if len(lines) > 1 else (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1])
    return any(len(part) >= SHORTEST_SECRET and not part.startswith("-----") and part in source for part in parts)
