"""Strict reading of JSON from a response, bytes or text."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.error_statuses import refuse_error_status

# Characters that an error shows of a name, or of a body that is not JSON.
SHOWN: Final = 80


class NumberText(str):
    """A JSON number as text, digit by digit as the service wrote it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON text that has not been parsed.

    Attributes:
        content: the text in UTF-8, UTF-16 or UTF-32.
        content_type: Content-Type of the response, or "" if it has none; None if there is no response.
    """

    content: bytes = field(repr=False)  # a live answer may repeat a secret, and tracebacks show variables
    content_type: str | None = None

    def parse(self, *, numbers_as_text: bool = False) -> Any:
        """Return the value, with numbers as `NumberText` if `numbers_as_text` is True.

        Raises:
            TabulationError: if the text is not JSON, has a name twice in one object, holds NaN or an infinity, or
                is nested too deeply.
        """
        number: Any = NumberText if numbers_as_text else None
        try:
            return json.loads(
                self.content,
                object_pairs_hook=_object,
                parse_constant=_refuse_constant,
                parse_float=number,
                parse_int=number,
            )
        except RecursionError:
            raise TabulationError("The JSON is nested too deeply to read.", "Tabulate a part of it.") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            failure = self._not_json(error)
        except ValueError:
            # int() refuses more than 4,300 digits.
            raise TabulationError("A number has too many digits.", "numbers='text' keeps it as it is.") from None
        raise failure  # not in the handler: an error of json holds the whole body, which may repeat a secret

    def _not_json(self, error: ValueError) -> TabulationError:
        if self.content_type is None:
            what = "This text is not JSON"
            advice = "Pass a response, its JSON as text or bytes, or a value such as a list of dicts."
        else:
            what = "The answer is not JSON"
            advice = self._advice()
        if isinstance(error, json.JSONDecodeError):
            what += f" (line {error.lineno}, column {error.colno})"
        if self.content_type:
            what += f"; its content type is {excerpt(self.content_type, SHOWN)!r}"
        if not self.content.strip():
            return TabulationError(f"{what}; it is empty.", advice)
        beginning = self.content[: 4 * SHOWN].decode("utf-8", "replace")
        return TabulationError(f"{what}; it begins with {excerpt(beginning, SHOWN)!r}.", advice)

    def _advice(self) -> str:
        """Return what to do about the body of a response that is not JSON."""
        if not self.content.strip():
            return "A response without a body has no rows: check the method and the path, and `response.status_code`."
        if (self.content_type or "").lower().startswith("text/csv"):
            return "pandas reads CSV: pd.read_csv(io.BytesIO(response.content))."
        lines = self.content.split(b"\n", 2)[:2]
        if len(lines) == 2 and all(line.strip().startswith(b"{") and line.strip().endswith(b"}") for line in lines):
            return "If each line is JSON, pass them one by one: [json.loads(line) for line in response.iter_lines()]."
        return "It may be a login page or the page of a proxy: check the address in the settings."


def body_of(data: Any) -> Body | None:
    """Return the JSON text of a response, bytes or text; None for a parsed value.

    Raises:
        ServiceError: if the response has an error status.
        TabulationError: if the data is a table.
    """
    if hasattr(data, "itertuples"):
        raise TabulationError(
            "This is already a table.",
            "Pass the response of the service, or its JSON; records= opens a column of JSON text.",
        )
    if is_response(data):
        return response_body(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return Body(bytes(data))
    if isinstance(data, str) and not isinstance(data, NumberText):
        return Body(data.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    return None


def is_response(data: Any) -> bool:
    """Return True for any object with `content` and `json`, such as an `httpx.Response`."""
    return hasattr(data, "content") and hasattr(data, "json")


def response_body(response: Any) -> Body:
    """Return the JSON text of a response.

    Raises:
        ServiceError: if the response has an error status.
    """
    refuse_error_status(response)
    headers = getattr(response, "headers", {})
    return Body(bytes(response.content), str(headers.get("content-type", "")))


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(members)
    if len(result) != len(members):
        twice = next(name for name, count in Counter(name for name, _ in members).items() if count > 1)
        raise TabulationError(
            f"The name {excerpt(twice, SHOWN)!r} appears twice in one object.",
            "To use the last value of each name: tabulate(response.json()).",
        )
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise TabulationError(f"{name} is not a JSON number.", "Parse and clean the JSON first.")
