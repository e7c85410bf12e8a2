"""Ask for one key: its request, the pages that follow, and the outcome, in one flow for sync and async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable
from http import HTTPStatus
from typing import TypeAlias

import httpx

from toolkit.core.errors import ServiceError, UnsafeAddress
from toolkit.core.escaping import excerpt
from toolkit.core.ledger import TRIES
from toolkit.session.pages import Pages
from toolkit.sweeps.keys import Key
from toolkit.sweeps.outcomes import LONGEST_REASON, Answered, KeyFailure, is_passing
from toolkit.sweeps.plan import Plan

Outcome: TypeAlias = Answered | KeyFailure
Asking: TypeAlias = Generator[httpx.Request, httpx.Response, Outcome]


def asking(plan: Plan, key: Key, *, message_of: Callable[[httpx.Response], str]) -> Asking:
    """Ask for a key: a generator that yields requests, gets their responses and returns the outcome.

    Errors that every other key would meet as well, such as refused credentials, pass through.

    Args:
        plan: makes the request.
        key: the key.
        message_of: returns the message of an error answer, without secrets.

    Raises:
        ToolkitError: if the session refuses or cannot send the request.
        ConfigurationError: if the plan's function does not return a request.
    """
    answers: list[httpx.Response] = []
    sent: list[httpx.Request] = []
    try:
        walk = plan.walk(key)
        while walk.request is not None:
            sent.append(walk.request)
            response = yield walk.request
            status = response.status_code
            if not 200 <= status < 300:
                reason = _on_page(walk, _status_reason(response, message_of))
                return KeyFailure(key, status, reason, _tries(sent), is_final=not is_passing(status))
            if walk.is_page(response) and response.content and response.request.method != "HEAD":
                answers.append(response)
            refusal = _go_on(walk, response)
            if refusal:
                return KeyFailure(key, status, refusal, _tries(sent), is_final=True)
            if not plan.pages:
                break
    except httpx.TransportError as error:
        return KeyFailure(key, None, f"no answer: {type(error).__name__}", _tries(sent))
    except (httpx.RequestError, httpx.InvalidURL) as error:  # undecodable, too many redirects, malformed
        reason = f"{type(error).__name__}: {excerpt(str(error), 80)}"
        return KeyFailure(key, None, reason, _tries(sent), is_final=True)
    if walk.request is not None or walk.more is not None:
        plan.note_more(walk)
    return Answered(key, answers, sum(len(answer.content) for answer in answers))


def _tries(sent: Iterable[httpx.Request]) -> int:
    return sum(request.extensions.get(TRIES, 1) for request in sent)


def ask(flow: Asking, send: Callable[[httpx.Request], httpx.Response]) -> Outcome:
    """Go through an asking with a function that sends."""
    try:
        request = next(flow)
        while True:
            try:
                response = send(request)
            except Exception as error:  # noqa: BLE001 - the flow knows which failures are outcomes
                request = flow.throw(error)
            else:
                request = flow.send(response)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def ask_async(flow: Asking, send: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> Outcome:
    """Go through an asking with a function that sends and is awaited."""
    try:
        request = next(flow)
        while True:
            try:
                response = await send(request)
            except Exception as error:  # noqa: BLE001 - the flow knows which failures are outcomes
                request = flow.throw(error)
            else:
                request = flow.send(response)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _go_on(walk: Pages, response: httpx.Response) -> str:
    """Go on to the next page; return why that is not possible, or ""."""
    try:
        walk.go_on(response)
    except (ServiceError, UnsafeAddress) as error:
        return excerpt(error.what, LONGEST_REASON)
    return ""


def _on_page(walk: Pages, reason: str) -> str:
    return f"page {walk.number}: {reason}" if walk.number > 1 else reason


def _status_reason(response: httpx.Response, message_of: Callable[[httpx.Response], str]) -> str:
    """Return the words for a status, with the service's own message if it has one."""
    try:
        words = HTTPStatus(response.status_code).phrase
    except ValueError:
        words = f"status {response.status_code}"
    message = message_of(response)
    return excerpt(f"{words}: {message}" if message else words, LONGEST_REASON)
