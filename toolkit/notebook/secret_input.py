"""Fields for secrets. Their text stays in the page until the kernel asks for it, and is never in a trait.

Traits are saved with the notebook, even if they contain text that was typed but not submitted. So when the kernel asks,
the page sends the text as the binary part of a message, which is not kept in the notebook, the widget state or a
kernel's debug log. Afterwards the kernel tells the page which fields to empty: all of them if the values were accepted,
or only the refused secret's field.

`FIELDS` lists the fields for each kind of credentials, `SecretInput` shows them, and `make_credentials` makes
credentials from what was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

import anywidget
import traitlets

from toolkit.auth.credentials import Credentials, field_in_words
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair, Scheme
from toolkit.auth.private_keys import ALGORITHMS
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

LONGEST_TEXT: Final = 65_536  # bytes; far more than any key has
HOW_TO_GIVE_A_KEY: Final = "Choose its file, or paste the whole text of the file."


@dataclass(frozen=True, slots=True)
class Field:
    """A form field for one part of the credentials."""

    name: str  # the argument that the text is for, such as "client_secret"; or "scope"
    masked: bool = True
    is_key: bool = False  # a private key, which may come from a file
    is_proof: bool = True  # the secret itself, which must be typed again if it is refused
    is_option: bool = False  # most services do not need it; the page shows it below "More options"
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()  # each with its label; empty if any text can be typed

    @property
    def label(self) -> str:
        """The label on the panel, such as "Client secret"."""
        return field_in_words(self.name)


def _option(name: str, hint: str = "", choices: tuple[tuple[str, str], ...] = ()) -> Field:
    return Field(name, masked=False, is_proof=False, is_option=True, hint=hint, choices=choices)


_CLIENT_ID: Final = Field("client_id", masked=False, is_proof=False)
_SCOPE: Final = _option("scope", "Leave this empty for the default scope. Separate several scopes with spaces.")
_SCHEMES: Final = (("", "two headers (the default)"), ("basic", "HTTP Basic"))
_ALGORITHMS: Final = (("", "the default for the key"), *((name, name) for name in ALGORITHMS))
FIELDS: Final[Mapping[CredentialKind, tuple[Field, ...]]] = {
    CredentialKind.KEY_PAIR: (
        Field("key_id", is_proof=False),
        Field("secret_key"),
        _option("scheme", choices=_SCHEMES),
    ),
    CredentialKind.CLIENT_SECRET: (_CLIENT_ID, Field("client_secret"), _SCOPE),
    CredentialKind.CLIENT_KEY: (
        _CLIENT_ID,
        Field("private_key", is_key=True),
        Field("passphrase", hint="Leave this empty unless the key is encrypted."),
        _option("key_id", "Leave this empty to use the ID in the key, if the key has one."),
        _option("algorithm", choices=_ALGORITHMS),
        _option("audience", "Leave this empty for the token endpoint URL, or type “issuer” for the auth address."),
        _SCOPE,
    ),
}


class SecretInput(anywidget.AnyWidget):
    """The fields of one form.

    `answered` is called when the page has sent the values, which `take()` then returns. `submitted` is called when
    Enter is pressed in a field.
    """

    _esm = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    _css = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    fields = traitlets.List(traitlets.Dict()).tag(sync=True)  # the page forgets the values of fields that are removed
    problems = traitlets.Dict().tag(sync=True)  # what to show beside fields, keyed by field name

    def __init__(self, *, answered: Callable[[], None], submitted: Callable[[], None], **traits: Any) -> None:
        self._answered = answered
        self._submitted = submitted
        self._texts: dict[str, Secret] = {}
        self._asked = 0
        self._is_waiting = False
        super().__init__(**traits)
        self.on_msg(self._receive)

    def show(self, fields: Sequence[Field]) -> None:
        """Show these fields, and clear problems if the fields change; fields that were there before keep their text."""
        shown = [{**asdict(field), "label": field.label} for field in fields]
        if shown != self.fields:
            self._is_waiting = False
            self._texts.clear()
            self.problems = {}
            self.fields = shown

    def ask(self) -> None:
        """Ask the page for the values. Asking again before it answers repeats the same question."""
        if not self._is_waiting:
            self._asked += 1
            self._is_waiting = True
        self.send({"type": "ask", "number": self._asked})

    def take(self) -> dict[str, Secret]:
        """Return the values that the page sent, by field (none if the front end drops buffers), and forget them."""
        texts, self._texts = self._texts, {}
        return texts

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Empty these fields in the page; None empties all fields and drops an answer that has not arrived."""
        if names is None:
            self._is_waiting = False
            self._texts.clear()
            names = [field["name"] for field in self.fields]
        self.send({"type": "forget", "names": [*names]})

    def _receive(self, _: object, content: Mapping[str, object], buffers: object) -> None:
        if content.get("type") == "submit":
            self._submitted()
        elif content.get("type") == "texts" and self._is_waiting and content.get("number") == self._asked:
            self._is_waiting = False
            self._texts = _texts([field["name"] for field in self.fields], buffers)
            self._answered()


def _texts(names: Sequence[str], buffers: Any) -> dict[str, Secret]:
    """Return the values in an answer, by field; a value is empty if its buffer is missing or far too long for a key."""
    texts = [bytes(buffer) if memoryview(buffer).nbytes <= LONGEST_TEXT else b"" for buffer in buffers or ()]
    if not texts:
        return {}
    texts += [b""] * (len(names) - len(texts))
    return {name: Secret(data.decode("utf-8", "replace")) for name, data in zip(names, texts, strict=False)}


def make_credentials(
    kind: CredentialKind, environment: Environment, texts: Mapping[str, Secret | Path], *, name: str
) -> Credentials:
    """Create credentials from typed values, without the surrounding whitespace that pasted text often has.

    A private key may be a path to its file. Optional fields and the passphrase may be empty or missing.

    Raises:
        ToolkitError: if a value is missing or invalid, or the environment does not accept this kind.
    """
    plain = {field: text.reveal().strip() if isinstance(text, Secret) else str(text) for field, text in texts.items()}
    if kind is CredentialKind.KEY_PAIR:
        scheme = cast("Scheme", plain.get("scheme") or "headers")
        return KeyPair(plain["key_id"], plain["secret_key"], environment=environment, name=name, scheme=scheme)
    scope = " ".join(plain.get("scope", "").split())  # its parts are separated by single spaces (RFC 6749 section 3.3)
    form_fields = {"scope": scope} if scope else None
    client_id = plain["client_id"]
    if kind is CredentialKind.CLIENT_SECRET:
        secret = plain["client_secret"]
        return ClientSecret(client_id, secret, environment=environment, name=name, form_fields=form_fields)
    if client_id and not plain["private_key"]:
        raise ConfigurationError("The private key is missing.", HOW_TO_GIVE_A_KEY, about="private_key")
    typed = texts.get("passphrase")
    return ClientKey(
        client_id,
        texts["private_key"],
        environment=environment,
        name=name,
        passphrase=typed if isinstance(typed, Secret) and typed else None,  # spaces may be part of it
        key_id=plain.get("key_id") or None,
        algorithm=plain.get("algorithm") or None,
        audience=plain.get("audience") or "token-endpoint",
        form_fields=form_fields,
    )
