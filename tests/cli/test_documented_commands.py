"""What the documentation, the examples and the messages say about the command line is what the command line has."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import toolkit
from toolkit.cli.app import app

ROOT = Path(toolkit.__file__).parents[1]
PROGRAM = r"(?:[\w./\\-]*[/\\])?toolkit"  # with the folder of a virtual environment
# Inline code, or a line of a block, that begins with the program; a shell prompt or YAML may stand before it.
COMMAND = re.compile(
    rf"(?:`|^[ \t]*(?:[$>!-] ?|run: ?|entry: ?|- run: ?)*|&& |; ){PROGRAM}((?: [^`\n&;]*)?)", re.MULTILINE
)
OPTION = re.compile(r"`(--[a-z][\w-]*)")
# Those of pytest and its plugins, and of papermill.
OPTIONS_OF_OTHERS = frozenset(
    "--gate --hypothesis-profile --help --junitxml --block-network --disable-recording --record-mode --cwd".split()
)


def commands_below(command, *names):
    """Yield the names and the object of each command; of a group, its commands as well."""
    yield names, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands_below(inner, *names, name)


COMMANDS = dict(commands_below(get_command(app)))
LEAVES = {names: command for names, command in COMMANDS.items() if not hasattr(command, "commands")}


def options_of(command):
    return {"--help", "-h"} | {option for param in command.params for option in (*param.opts, *param.secondary_opts)}


def markdown_texts():
    """Yield where a text is, and the text, of all documentation: Markdown, notebooks, hooks and actions."""
    files = [*ROOT.glob("*.md"), *ROOT.glob(".github/**/*.md"), *ROOT.glob("notebooks/**/*.md")]
    files += [*ROOT.glob(".pre-commit-hooks.yaml"), *ROOT.glob(".github/actions/**/*.*")]
    for file in files:
        parts = file.read_text(encoding="utf-8").split("```")
        if file.suffix == ".md":  # a line of prose may begin with the name of the program
            parts[::2] = [prose.replace("\n", " ") for prose in parts[::2]]
        yield file.relative_to(ROOT).as_posix(), "```".join(parts)
    for file in ROOT.glob("notebooks/**/*.ipynb"):
        if ".ipynb_checkpoints" not in file.parts:
            for number, cell in enumerate(json.loads(file.read_bytes())["cells"], start=1):
                yield f"{file.name}, cell {number}", "".join(cell["source"])


def message_texts():
    """Yield where a text is, and the text, of all strings in the package: examples, help, docstrings and messages."""
    for file in Path(toolkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "toolkit" in node.value:
                text = node.value
                yield (
                    f"{file.relative_to(ROOT).as_posix()}:{node.lineno}",
                    f"`{text}`" if text.startswith("toolkit ") else text,
                )


def documented(texts):
    """Yield where a command is written, and its words; `a|b` stands for two commands."""
    for place, text in texts:
        for match in COMMAND.finditer(text):
            line = match[1].split("#")[0]
            try:
                words = shlex.split(line)
            except ValueError:
                words = line.split()
            if words:
                yield place, words


def problems_of(words):
    """Return what a command that is written somewhere has and the command line does not."""
    names = []
    command = COMMANDS[()]
    for word in words:
        if not hasattr(command, "commands") or word.startswith("-"):
            break
        for name in word.rstrip(".,:;").split("|"):
            if (*names, name) not in COMMANDS:
                return [f"no command {' '.join((*names, name))!r}"]
        names.append(word.rstrip(".,:;").split("|")[-1])
        command = COMMANDS[tuple(names)]
    own = words[: words.index("--")] if "--" in words else words
    used = {word.split("=")[0].rstrip(".,:;") for word in own if re.match(r"--?[a-z]", word)}
    return [f"{' '.join(names)} has no {option}" for option in sorted(used - options_of(command))]


@pytest.mark.parametrize("texts", [markdown_texts, message_texts])
def test_documented_commands_exist(texts):
    """Every command and option in the documentation, the help and the messages exists."""
    written = list(documented(texts()))
    assert len(written) > 10
    assert [(place, *problems) for place, words in written if (problems := problems_of(words))] == []


def test_options_alone_exist():
    """An option that the documentation mentions without its command belongs to some command."""
    known = set().union(*map(options_of, COMMANDS.values())) | OPTIONS_OF_OTHERS
    mentioned = {option for _, text in markdown_texts() for option in OPTION.findall(text)}
    assert {option for option in mentioned if not option.startswith("--toolkit-")} - known == set()  # those of pytest


@pytest.mark.parametrize("names", LEAVES, ids=" ".join)
def test_help_of_every_command(names):
    """The help of each command says in a sentence what it does, and shows how to use it."""
    command = LEAVES[names]
    assert re.match(r"[A-Z].+\.", command.help.strip().split("\n\n")[0].replace("\n", " "))
    assert f"`toolkit {' '.join(names)}" in (command.epilog or "")


def test_a_newcomer_reads_the_help():
    """The commands come in the order in which a newcomer needs them, each with a line of its own, without colours."""
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    listed = re.findall(r"^│ ([a-z]+) +[A-Z].*\.  *│$", result.output, re.MULTILINE)
    assert listed == [
        *("demo", "lab", "practice", "record", "credentials", "keys", "cassettes"),
        *("verify", "scan", "publish"),
    ]
    assert "\x1b" not in result.output
    assert max(map(len, result.output.splitlines())) <= 80
