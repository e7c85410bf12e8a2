"""The command line: the program `toolkit` and its commands.

`main` is the entry point. It runs the command that was typed, prints a toolkit error as two lines on standard error,
and sets the exit status: 0 for success, 1 for an error, 2 for a usage error (`scan`, `verify` and `cassettes` have
their own statuses). Commands are thin: each calls lower layers and prints the result.

- `app`: assembles all commands (add a new command or group there), and ends the program.
- `terminal`: helpers shared by all commands, for lines, tables, JSON, questions and errors.
- `demo`, `lab`, `practice`: get started without credentials; `demo` shows the tour, and `lab` copies the notebooks.
- `record`, `credentials_command`, `keys_command`, `cassettes_command`: manage your own recordings and credentials.
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
