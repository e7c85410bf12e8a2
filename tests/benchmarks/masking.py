"""What masking costs a kernel on each message that it sends, with few and with many sessions.

Beside it what the kernel needs anyway: `json.dumps` of the same message. None of them holds a secret, as is usual.
"""

from __future__ import annotations

import json
import secrets

from tests.benchmarks.pairs import in_turn
from toolkit.core.secret import Secret
from toolkit.notebook.masked_values import masked
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.live import SESSION_SECRETS

ROWS = "".join(f"<tr><td>{row}</td><td>Account {row}</td><td>{row * 3.7:.2f}</td></tr>" for row in range(20_000))
NAMES = [f"name_{number}" for number in range(400)]
COMPLETIONS = [{"start": 0, "end": 3, "text": name, "type": "function", "signature": "(a, b)"} for name in NAMES]
MESSAGES = {
    "a printed line": {"name": "stdout", "text": "row 4711 of the report: 12.50 EUR, settled on 2026-05-12\n"},
    "a list of 400 completions": {"matches": NAMES, "metadata": {"_jupyter_types_experimental": COMPLETIONS}},
    "a table of 20,000 rows in HTML": {"data": {"text/html": f"<table>{ROWS}</table>"}, "metadata": {}},
}


def a_session() -> KnownSecrets:
    """What a session of a broker partner knows after a day: its secret, and a token for each quarter of an hour."""
    tokens = [("ACCESS_TOKEN", Secret(secrets.token_urlsafe(32))) for _ in range(32)]
    return KnownSecrets([("CLIENT_SECRET", Secret(secrets.token_urlsafe(32))), *tokens])


def main() -> None:
    """Print the figures."""
    print(f"{'one message':32}{'size':>12}{'sessions':>10}{'json.dumps':>14}{'masking':>14}{'ratio':>8}")
    sessions: list[KnownSecrets] = []
    for count in (1, 30):
        while len(sessions) < count:
            sessions.append(a_session())
            SESSION_SECRETS.add(sessions[-1])
        for name, message in MESSAGES.items():
            ways = {
                "json": lambda message=message: json.dumps(message),
                "masked": lambda message=message: masked(message),
            }
            size = len(json.dumps(message))
            figures = in_turn(ways, rounds=15, repeats=max(1, 200_000 // size))
            dumped, spent = (figures.seconds[way] * 1e6 for way in ways)
            print(f"{name:32}{size:12,}{count:10}{dumped:11.0f} µs{spent:11.0f} µs{figures.ratios['masked']:8.2f}")


if __name__ == "__main__":
    main()
