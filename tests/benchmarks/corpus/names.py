"""434 names of credentials that public documentation gives, each with its place, its service and the value's format.

`names.txt` holds one case a line: name, format, service. `held_out.txt` has 100 more, to count what nobody looked at
while the vocabulary was written: whoever changes it should not read them. A format is made of parts: text as it is, and
`kind:size` for a random part (hex, HEX, lower, upper, alnum, b64 and b64url by bytes, digits, uuid, jwt).

    CASES                  all cases, in a fixed order
    new_value(format, numbers)
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Name:
    """A credential's name in a place, as a service documents it.

    Attributes:
        place: header, query, JSON, form or cookie.
        number: of the case in its list; decides by turns where JSON and cookies stand.
    """

    place: str
    name: str
    format: str
    service: str
    number: int


def cases(file: str) -> list[Name]:
    """Return the cases of a data file beside this one, in their order there."""
    cases: list[Name] = []
    place = ""
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            place = line.strip("[]")
        elif line:
            cases.append(Name(place, *line.split(" | "), len(cases)))
    return cases


CASES = cases("names.txt")


def new_value(form: str, numbers: random.Random) -> tuple[str, list[str]]:
    """Return a random value of a format, and the parts of it that may not stay: its long random parts, or all of it."""
    parts: list[str] = []

    def part(match: re.Match[str]) -> str:
        parts.append(_random_part(match[1], int(match[2] or 0), numbers))
        return parts[-1]

    value = re.sub(r"\{(\w+):?(\d*)\}", part, form)
    return value, [text for text in parts if len(text) >= 12] or [value]


_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "digits": string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + "234567",
    "alnum": string.ascii_letters + string.digits,
}


def _random_part(kind: str, size: int, numbers: random.Random) -> str:
    match kind:
        case "b64":
            return base64.b64encode(numbers.randbytes(size)).decode()
        case "b64url":
            return base64.urlsafe_b64encode(numbers.randbytes(size)).decode().rstrip("=")
        case "uuid":
            text = f"{numbers.getrandbits(128):032x}"
            return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
        case "jwt":
            claims = [{"alg": "RS256", "typ": "JWT"}, {"sub": f"{numbers.getrandbits(40)}", "iat": 1790000000}]
            encoded = [base64.urlsafe_b64encode(json.dumps(item).encode()).decode().rstrip("=") for item in claims]
            return ".".join([*encoded, _random_part("b64url", 96, numbers)])
    return "".join(numbers.choices(_ALPHABETS[kind], k=size))
