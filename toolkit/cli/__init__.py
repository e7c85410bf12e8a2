"""The command line: the program `toolkit` and its commands.

`main` is the entry point. It runs the command that was typed, prints an error of the toolkit as two lines on standard
error, and sets the exit status: 0 for success, 1 for an error, 2 for wrong usage (`scan`, `verify` and `cassettes` have
statuses of their own). Commands are thin: they call the rooms below and print.

- `app`: all commands together. `application` adds a command to a group.
- `demo`, `lab`, `practice`, `record`, `verify`, `scan`, `publish`, `keys`: one for each command.
- `credentials_command`: list, test, allow and remove credentials. `credentials_add` saves them, `values` asks for
  secrets, `credentials_destinations` says where they are sent, and `probe` tests them.
- `cassettes_command`: lists recordings, and puts the `cassettes_*` together.
- `terminal`: tables and messages, with text from outside escaped.
- `bundled`: the notebooks and cassettes that come with the package, and the tour that the demo replays.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from toolkit.cli.app import run

    run()
