"""Placeholders and stand-ins of a recording, which must not be sent to a service.

Who replays a recording reads answers with `<ACCESS_TOKEN>` or a pseudonym in them, and may pass such a value on in a
request that is not recorded. The service would get a value that it never issued, and at worst act on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import Final
from urllib.parse import unquote_plus

from toolkit.cassettes.format.contents import Contents
from toolkit.core.errors import AccessError, ConfigurationError
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.scrubbing.vocabulary import is_placeholder

_NOTED: Final = b"pseudonyms:"  # in each interaction that was recorded under rules of pseudonyms
_PLACEHOLDER: Final = re.compile(r"<[A-Z][A-Z0-9_]{0,60}(?:-[0-9]{1,9})?>")
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")  # of JSON


class RecordedValues:
    """The placeholders and pseudonyms of one recording.

    Args:
        contents: the interactions that the file held when it was opened.
        scrubber: the scrubber of the cassette, which has the bytes of the file.
        file_name: name of the file, for messages.
    """

    def __init__(self, contents: Contents, scrubber: Scrubber, *, file_name: str) -> None:
        self._contents = contents
        self._scrubber = scrubber
        self._file_name = file_name

    @cached_property
    def _stand_ins(self) -> frozenset[str]:
        """The pseudonyms in the file. All of it is parsed if there are rules, here or noted in it, which make them."""
        may_have = self._scrubber.has_rules or _NOTED in self._scrubber.recorded
        finder = cache(partial(_finder, self._scrubber))
        stand_ins: set[str] = set()
        for interaction in self._contents.readable().values() if may_have else ():
            for message in interaction[:2]:
                stand_ins |= finder(interaction.pseudonyms).stand_ins_in(message)
        return frozenset(stand_in for stand_in in stand_ins if len(stand_in) >= SHORTEST_SECRET)

    def refuse_in(self, request: RecordedRequest) -> None:
        """Refuse a request, as the caller made it, that is about to be sent with such a value.

        Raises:
            AccessError: if the URL, a header or the body holds such a value.
        """
        for place, text in _texts_of(request):
            kind = self._kind_in(text)
            if kind:
                raise AccessError(
                    f"{place} holds {kind} from the recording {self._file_name}, which stands for a value that was not "
                    "recorded.",
                    "Nothing was sent. Ask the live service for the value, or replay only recorded calls. "
                    "A client that has replayed a cookie forgets it with client.cookies.clear().",
                    about="cassette",
                )

    def _kind_in(self, text: str) -> str:
        """Return what a text holds of the recording, in words, or ""."""
        if any(stand_in in text for stand_in in self._stand_ins):
            return "a pseudonym"
        for found in _PLACEHOLDER.findall(text) if "<" in text else ():
            is_value = len(found) >= SHORTEST_SECRET and is_placeholder(found)
            if is_value and found.encode() in self._scrubber.recorded:
                return f"the placeholder {found}"
        return ""


def _finder(scrubber: Scrubber, noted: tuple[str, ...]) -> Scrubber:
    """Return a scrubber with the rules of pseudonyms that an interaction notes, too."""
    if set(noted) <= set(scrubber.pseudonyms):
        return scrubber
    with suppress(ConfigurationError):  # the note is not one of ours
        return Scrubber(scrubber.known, rules=Rules(pseudonyms=(*scrubber.pseudonyms, *noted)))
    return scrubber


def _texts_of(request: RecordedRequest) -> Iterator[tuple[str, str]]:
    """Yield each text of a request that a caller fills in, with a description of its place."""
    yield "The URL", unquote_plus(request.uri)
    for name, value in request.headers:
        yield f"The header {name}", value
    body = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), request.body.decode("utf-8", "replace"))
    yield "The body", unquote_plus(body)
