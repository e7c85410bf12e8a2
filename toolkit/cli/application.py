"""Groups of commands: how a command is added to one, and a help that says in words what options and arguments take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from toolkit.core.programs import pasteable

_Function = TypeVar("_Function", bound=Callable[..., Any])
# What an option takes, by the type that Typer would show; a flag takes nothing.
_WORDS: Final = {
    "bool": "",
    "str": "TEXT",
    "list[str]": "TEXT",
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "path": "PATH",
}


class Command(TyperCommand):
    """A command with a help in words."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_in_words(param, ctx) for param in super().get_params(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.epilog = pasteable(self.epilog or "")
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A group of commands with a help in words."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_in_words(param, ctx) for param in super().get_params(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.epilog = pasteable(self.epilog or "")
        super().format_help(ctx, formatter)


class Application(typer.Typer):
    """A group of commands, or all of them.

    Args:
        help: what the group is for.
        options: further arguments of `typer.Typer`.
    """

    def __init__(self, *, help: str, **options: Any) -> None:  # noqa: A002 - as Typer calls it
        super().__init__(
            cls=Group,
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
        decorate = self.command(name, cls=Command, epilog=examples, rich_help_panel=panel, short_help=summary)
        return decorate(function)


def _in_words(param: Any, ctx: Any) -> Any:
    """Return a parameter whose help shows words: NUMBER rather than `<int>`, and NAME as the name of an argument.

    Earlier versions of Typer show words by themselves; their parameters stay as they are.
    """
    kind = param.display_type_rich(ctx) if hasattr(param, "display_type_rich") else None
    if not (kind and kind.startswith("<")):
        return param
    words = ""
    if param.param_type_name == "argument":
        param.metavar = param.name.upper() if param.nargs == 1 else param.name.upper().removesuffix("S")
        usage = param.metavar if param.required else f"[{param.metavar}]"
        pieces = [usage if param.nargs == 1 else f"{usage}..."]
        param.get_usage_pieces = lambda _: pieces
    else:
        words = _WORDS.get(kind.strip("<>"), kind.strip("<>"))
    param.display_type_rich = lambda ctx: words  # noqa: ARG005 - Typer passes it by name
    return param
