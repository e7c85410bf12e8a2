"""Passwords in files of logins and in connection strings that have no names of fields.

These are `.netrc` (GNU inetutils), `.pgpass` (PostgreSQL), and addresses of databases as Go's and Oracle's drivers
write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shapes import ShapedCredential
from toolkit.scrubbing.strength import Strength, grade

_LONGEST: Final = 2_048  # characters of a match that begins at the end of a slice
_SPACE: Final = r"(?:\s|\\[nrt]){1,40}+"
_LOGIN: Final = (
    rf"{_SPACE}(?:(?:login|account){_SPACE}[^\s\\]{{1,200}}+{_SPACE}){{1,2}}+password{_SPACE}"
    r"[\"']?([^\s\\\"']{8,400}+)"
)
_NETRC: Final = rf"machine{_SPACE}[^\s\\]{{1,200}}+{_LOGIN}"
_NETRC_DEFAULT: Final = rf"default{_LOGIN}"
_PGPASS: Final = (
    r":(?:\*|[0-9]{4,5}+):[^\s:/]{1,100}+:[^\s:/]{1,100}+:([^\s:\"',]{8,200}+)(?=[ \t\r]{0,8}+(?:\n|\\n|\Z|\"))"
)
_GO_ADDRESS: Final = r"@(?:tcp6?|unix|cloudsql|udp)?\("
_BEFORE_GO_ADDRESS: Final = r"[^\s:\"'/@=]{1,100}+:([^\s\"'@]{8,200}+)\Z"
_ORACLE: Final = r"jdbc:oracle:[a-z0-9]{2,10}+:[^\s/:@\"']{1,100}+/([^\s@\"']{8,200}+)@"
_LONGEST_LOGIN: Final = 300
_OF_LOGIN: Final = "password of a login"
_IN_ADDRESS: Final = "password in a URL"
# Texts that occur in each, the pattern, and what it is called.
_LOGINS: Final = (
    (("password", "machine"), _NETRC, _OF_LOGIN),
    (("password", "default"), _NETRC_DEFAULT, _OF_LOGIN),
    ((":",), _PGPASS, _OF_LOGIN),
    (("jdbc:oracle:",), _ORACLE, _IN_ADDRESS),
)


def logins_in(text: str) -> Iterator[ShapedCredential]:
    """Yield the passwords in files of logins and in addresses of databases."""
    for signs, pattern, what in _LOGINS:
        if all(map(text.__contains__, signs)):
            for match in matches_in(pattern, text, longest=_LONGEST):
                if grade(match[1]) is not Strength.WEAK:
                    yield ShapedCredential(*match.span(1), "PASSWORD", what, match[1])
    if "@" in text and "(" in text:
        for address in matches_in(_GO_ADDRESS, text, longest=_LONGEST):
            first = max(0, address.start() - _LONGEST_LOGIN, text.rfind("@", 0, address.start()))
            login = compiled(_BEFORE_GO_ADDRESS).search(text[first : address.start()])
            if login is not None and grade(login[1]) is not Strength.WEAK:
                start, end = login.span(1)
                yield ShapedCredential(first + start, first + end, "PASSWORD", _IN_ADDRESS, login[1])
