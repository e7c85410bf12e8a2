"""Further fields of token requests, such as a scope. What the service means by the others, only the user knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolkit.core.document import Placeholder
from toolkit.core.secret import Secret

# What is asked for (RFC 6749 section 3.3, RFC 8707 section 2). Any other field may be a part of the credentials.
_NOT_SECRET: Final = frozenset({"scope", "audience", "resource"})


class FormFields(Mapping[str, str]):
    """An immutable mapping of names to values. Its repr shows the values only of fields that are never secret."""

    __slots__ = ("_secrets",)

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._secrets = {name: Secret(value) for name, value in fields.items()}

    def __getitem__(self, name: str) -> str:
        return self._secrets[name].reveal()

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return repr(self.recorded())

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("form fields cannot be pickled: they may be a part of credentials")

    def __copy__(self) -> FormFields:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FormFields:
        return self

    def recorded(self) -> dict[str, str]:
        """Return the fields as a recording shows them: with a placeholder for each value that may be secret."""
        return {name: self[name] if name.lower() in _NOT_SECRET else Placeholder.SECRET for name in self}

    def secrets(self) -> list[Secret]:
        """Return the values that may be secret."""
        return [secret for name, secret in self._secrets.items() if name.lower() not in _NOT_SECRET]
