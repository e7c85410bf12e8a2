"""Measure what masking adds to each message that a kernel sends, with few and with many sessions.

It is compared with `json.dumps` of the same message, which the kernel needs anyway. No message holds a secret, as is
usual.
"""

from __future__ import annotations

import json
import secrets

from tests.benchmarks.measuring import Table, microseconds, time_in_turn
from toolkit.core.secret import REGISTER, Secret
from toolkit.notebook.masking import masked

ROWS = "".join(f"<tr><td>{row}</td><td>Account {row}</td><td>{row * 3.7:.2f}</td></tr>" for row in range(20_000))
NAMES = [f"name_{number}" for number in range(400)]
COMPLETIONS = [{"start": 0, "end": 3, "text": name, "type": "function", "signature": "(a, b)"} for name in NAMES]
MESSAGES = {
    "a printed line": {"name": "stdout", "text": "row 4711 of the report: 12.50 EUR, settled on 2026-05-12\n"},
    "400 completions": {"matches": NAMES, "metadata": {"_jupyter_types_experimental": COMPLETIONS}},
    "a table of 20,000 rows as HTML": {"data": {"text/html": f"<table>{ROWS}</table>"}, "metadata": {}},
}


def session_secrets() -> list[tuple[str, Secret]]:
    """Return what a broker partner's session knows after eight hours: its secret, and a token for each 15 minutes."""
    tokens = [("ACCESS_TOKEN", Secret(secrets.token_urlsafe(32))) for _ in range(32)]
    return [("CLIENT_SECRET", Secret(secrets.token_urlsafe(32))), *tokens]


def main() -> None:
    """Measure each message, with the secrets of 1 and of 30 sessions."""
    table = Table("one message", "characters", "sessions", "json.dumps", "masking", "ratio")
    for sessions, count in ((1, 1), (29, 30)):
        for _ in range(sessions):
            REGISTER.add_all(session_secrets())
        for name, message in MESSAGES.items():
            ways = {
                "json": lambda message=message: json.dumps(message),
                "masking": lambda message=message: masked(message),
            }
            size = len(json.dumps(message))
            timings = time_in_turn(ways, rounds=15, repeats=max(1, 200_000 // size))
            cells = [microseconds(timings.seconds[way]) for way in ways]
            table.print_row(name, f"{size:,}", str(count), *cells, f"{timings.ratios['masking']:.2f}")


if __name__ == "__main__":
    main()
