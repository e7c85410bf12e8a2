"""Groups of commands, and how a command is added to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typer

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Application(typer.Typer):
    """A group of commands, or all of them.

    Args:
        help: what the group is for.
        options: further arguments of `typer.Typer`.
    """

    def __init__(self, *, help: str, **options: Any) -> None:  # noqa: A002 - as Typer calls it
        super().__init__(
            help=help,
            no_args_is_help=True,
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode="markdown",
            context_settings={"help_option_names": ["-h", "--help"]},
            **options,
        )

    def add(
        self, name: str, function: _Function, *, summary: str, examples: str, panel: str | None = None
    ) -> _Function:
        """Add a command, and return its function.

        Args:
            name: what the user types.
            function: the command; its docstring is the help.
            summary: the line in the list of commands.
            examples: the end of the help; see `terminal.examples`.
            panel: the heading in the list of commands.
        """
        decorate = self.command(name, epilog=examples, rich_help_panel=panel, short_help=summary)
        return decorate(function)
