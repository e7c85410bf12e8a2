"""The error of a response with an error status: which call it answers, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolkit.core.errors import ServiceError
from toolkit.core.escaping import excerpt, printable
from toolkit.core.ledger import call_of, source_of

NO_TABLE: Final = ", so there is no table"
_LONGEST_CALL: Final = 200  # characters
_MESSAGE_FIELDS: Final = ("message", "detail", "error_description", "title", "error")
_LONGEST_MESSAGE: Final = 200  # characters
_UNAUTHORIZED: Final = 401
_AGAIN: Final = 'with mode="all", or delete the file first.'
# Advice for a status, or for a class of statuses (RFC 9110, section 15; for 429 RFC 6585, section 4).
_ADVICE: Final = {
    _UNAUTHORIZED: "It did not accept the credentials: check them, and that they belong to this environment.",
    403: "The credentials are valid, but do not allow this: ask the service for permission.",
    404: "Nothing was found at this address: check the path, and the address in the settings.",
    429: "It asks for fewer requests: wait before trying again.",
    3: "It redirects to another address, which is not followed: check the address in the settings.",
    4: "Change the request; `response.text` may say more.",
    5: "The service has a problem: try again later.",
}


def refuse_error_status(response: Any) -> None:
    """Check that a response has the status of a success.

    Raises:
        ServiceError: if it has an error status or is a redirect.
    """
    status = getattr(response, "status_code", 200)
    if status < 300:
        return
    call, file = excerpt(call_of(response), _LONGEST_CALL), source_of(response).replayed_from
    who = "The service" if not file else f"Replayed from {file}: the service"
    what = f"{who} answered {f'{call} ' if call else ''}with status {status}{NO_TABLE}."
    advice = _ADVICE.get(status) or _ADVICE[min(status // 100, 5)]
    if not file:
        next_step = f"{advice}{recording_note(response)}"
    elif status == _UNAUTHORIZED:
        next_step = f"Nothing was sent. If the credentials are right by now, record again {_AGAIN}"
    else:
        next_step = f"Nothing was sent. To send it again, record {_AGAIN} {advice}"
    raise ServiceError(what, next_step, status=status, response=response)


def recording_note(response: Any) -> str:
    """Return a sentence, after a space, that an answer is in a recording, which will replay it; "" if it is not."""
    file = source_of(response).recorded_in
    return "" if not file else f" This answer is recorded in {file}: to call again after that, record {_AGAIN}"


def message_of(response: Any, scrub: Callable[[str], str]) -> str:
    """Return the message of an error answer from one of the usual fields, such as RFC 9457's `detail`, or "".

    It is shortened and safe to print; `scrub` removes secrets from it.
    """
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    texts = [body.get(name) for name in _MESSAGE_FIELDS] if isinstance(body, dict) else []
    message = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return excerpt(scrub(printable(message)), _LONGEST_MESSAGE)
