"""JSON read strictly: from a response, bytes or text, to Python values or a clear error."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.core.escaping import excerpt

# How many characters of a body that is no JSON, or of a name, an error shows.
SHOWN: Final = 80


class Written(str):
    """A JSON number as the service wrote it, digit by digit."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON text that is still to be read.

    Attributes:
        content: the text, in one of the encodings of Unicode.
        content_type: what the response says it is, perhaps nothing; None when there is no response.
    """

    content: bytes
    content_type: str | None = None

    def parse(self, *, written: bool = False) -> Any:
        """The value, with the members of each object in their order.

        With `written`, numbers come as `Written`.

        Raises:
            TabulationError: it is no JSON; a name appears twice in one object; NaN or Infinity; too deep.
        """
        number: Any = Written if written else None
        try:
            return json.loads(
                self.content,
                object_pairs_hook=_object,
                parse_constant=_refuse_constant,
                parse_float=number,
                parse_int=number,
            )
        except RecursionError:
            raise TabulationError("the JSON is nested too deep to read") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self._not_json(error) from None
        except ValueError:
            # int() refuses thousands of digits.
            raise TabulationError("a number has too many digits", "numbers='text' keeps it as it is.") from None

    def _not_json(self, error: ValueError) -> TabulationError:
        if self.content_type is None:
            what = "This text is not JSON"
            advice = "Give a response, its JSON as text or bytes, or a value such as a list of dicts."
        else:
            what = "The answer is not JSON"
            advice = "It may be a login page or a proxy's: check the address in the settings."
        if isinstance(error, json.JSONDecodeError):
            what += f" from line {error.lineno}, column {error.colno} on"
        if self.content_type:
            what += f"; its content type is {excerpt(self.content_type, SHOWN)!r}"
        if not self.content.strip():
            return TabulationError(f"{what}; it is empty.", advice)
        beginning = self.content[: 4 * SHOWN].decode("utf-8", "replace")
        return TabulationError(f"{what}; it begins {excerpt(beginning, SHOWN)!r}.", advice)


def body_of(data: Any) -> Body | None:
    """The JSON text of a response, bytes or text; None for anything else, which is a parsed value.

    A response is anything with `content` and `json`, such as that of httpx.

    Raises:
        ServiceError: the response has an error status.
        TabulationError: it is a table.
    """
    if hasattr(data, "itertuples"):
        raise TabulationError("This is a table already.", "Give what the service answered: a response, or its JSON.")
    if hasattr(data, "content") and hasattr(data, "json"):
        return _response_body(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return Body(bytes(data))
    if isinstance(data, str) and not isinstance(data, Written):
        return Body(data.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    return None


def _advice(status: int) -> str:
    """What a status asks of the caller (RFC 9110 section 15; 429 is of RFC 6585)."""
    if status == 401:
        return "It did not accept the credentials: check them, and that they belong to this environment."
    if status == 403:
        return "It knows the caller and does not allow this: ask the service for the permission."
    if status == 404:
        return "It has nothing at this address: check the path, and the address in the settings."
    if status == 429:
        return "It asks for fewer requests: wait before trying again."
    if status >= 500:
        return "It has a problem of its own: try again later."
    if status < 400:
        return "It points elsewhere, and redirects are followed only where asked: check the address in the settings."
    return "Change what is asked for; the answer itself, `response.text`, may say more."


def _response_body(response: Any) -> Body:
    status = getattr(response, "status_code", 200)
    if status >= 300:
        raise ServiceError(
            f"The service answered with status {status}, so there is no table.",
            _advice(status),
            status=status,
            response=response,
        )
    headers = getattr(response, "headers", {})
    return Body(bytes(response.content), str(headers.get("content-type", "")))


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) != len(members):
        twice = next(name for name, count in Counter(name for name, _ in members).items() if count > 1)
        raise TabulationError(
            f"the name {excerpt(twice, SHOWN)!r} appears twice in one object",
            "To take the last value of each name: tabulate(response.json()).",
        )
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise TabulationError(f"{name} is no JSON number", "To read it all the same, parse and clean the JSON first.")
