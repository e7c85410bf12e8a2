"""The command line: the program `toolkit` and its commands.

`main` is the entry point. It runs the command that was typed, prints an error of the toolkit as two lines on standard
error, and sets the exit status: 0 for success, 1 for an error, 2 for wrong usage (`scan`, `verify` and `cassettes` have
statuses of their own). Commands are thin: each calls the rooms below, and prints the result.

- `app`: all commands together (a new command or group is added there), and how the program ends.
- `terminal`: what commands share: lines, tables, JSON, questions and errors.
- `demo`, `lab`, `practice`: start without credentials. `demo` has the tour, and `lab` copies the bundled notebooks.
- `record`, `credentials_command`, `keys_command`, `cassettes_command`: calls, credentials and recordings of one's own.
- `verify`, `scan`, `publish`: check notebooks and files, and share them.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Ctrl+C ends it without a traceback, even while it loads."""
    try:
        from toolkit.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
