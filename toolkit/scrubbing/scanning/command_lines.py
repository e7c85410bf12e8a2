"""Credentials among the arguments of commands: `curl -u user:password`, `--token ...`, `sshpass -p ...`.

A command may stand in a shell script, a page, a log, or as a list of texts in code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shapes import ShapedCredential
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import Place

_WHAT: Final = "credentials on a command line"
_LONGEST: Final = 8_192  # characters of a match that begins at the end of a slice
_GAP: Final = r"(?:=|[ \t]{1,8}+(?:\\\r?\n[ \t]{0,20}+)?|\\{0,8}+[\"'],\s{0,40}+(?=\\{0,8}+[\"']))\\{0,8}+[\"']?"
# curl, wget, HTTPie, MongoDB, LDAP and others take both in one argument.
_USER_AND_PASSWORD: Final = (
    r"-(?<![\w-]-)(?:-(?:proxy-)?user|-auth|-creds?|[fgijkLNqRsSv0-9]{0,8}+u|[Ua])"
    rf"(?:{_GAP}|(?<=-u)\\{{0,8}}+[\"']?)([\w.@+%-]{{0,100}}+):([^\s\"'\\]{{8,400}}+)"
)
_OPTION: Final = rf"--(?<![\w-]--)([A-Za-z][\w-]{{1,60}}+){_GAP}([^\s\"'\\]{{8,4096}}+)"
_SHORT_OPTION: Final = r" -(?:pw|p|P|a|w)[ \t]?[\"']?([^\s\"'\\-][^\s\"'\\]{7,400}+)"
_COMMAND: Final = (
    r"(?:sshpass|(?:docker|podman|skopeo|oras|helm|az|oc|cf)[ \t]{1,4}+(?:registry[ \t]{1,4}+)?login|mysql\w{0,12}"
    r"|mariadb\w{0,12}|mongo\w{0,12}|redis-cli|ldap[a-z]{3,10}|sqlcmd|bcp|cqlsh|smbclient|7z|zip|unzip|htpasswd|rclone)"
    r"(?=[ \t])[^\n]{0,300}\Z"
)
_LONGEST_COMMAND: Final = 360  # characters before the option


def arguments_in(text: str) -> Iterator[ShapedCredential]:
    """Yield the credentials among the arguments of commands in a text."""
    if "-" not in text:
        return
    for match in matches_in(_USER_AND_PASSWORD, text, longest=_LONGEST):
        if grade(match[2]) is not Strength.WEAK:
            yield ShapedCredential(*match.span(2), "PASSWORD", _WHAT, match[2])
    if "--" in text:
        for match in matches_in(_OPTION, text, longest=_LONGEST):
            kind = secret_kind(match[1], match[2], Place.JSON)
            if kind is not None:
                yield ShapedCredential(*match.span(2), kind, _WHAT, match[2])
    for match in matches_in(_SHORT_OPTION, text, longest=_LONGEST):
        if grade(match[1]) is Strength.STRONG:
            start = match.start()
            if compiled(_COMMAND).search(text[max(0, start - _LONGEST_COMMAND) : start + 1]):
                yield ShapedCredential(*match.span(1), "PASSWORD", _WHAT, match[1])
