"""The reference has everything that the code has: names, arguments, commands, settings, errors, keys of cassettes."""

from __future__ import annotations

import inspect
import re
import sys

import pytest
from documented_blocks import ROOT, links_of

import toolkit as tk
from toolkit.auth.profiles.fields import FIELDS
from toolkit.cassettes.format import interactions
from toolkit.core.document import ADDRESS_NAMES, Placeholder
from toolkit.core.errors import ToolkitError
from toolkit.local import settings
from toolkit.local.settings import VARIABLES

NOTEBOOKS = ROOT / "notebooks"
sys.path.insert(0, str(NOTEBOOKS / ".site"))

import command_help  # noqa: E402 - of notebooks/.site
import docstrings  # noqa: E402
import public_names  # noqa: E402
import reference  # noqa: E402

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (NOTEBOOKS / "reference").glob("*.md")}
ERRORS = {
    name for name in tk.__all__ if isinstance(getattr(tk, name), type) and issubclass(getattr(tk, name), Exception)
}
CALLED_BY_IPYTHON = {"load_ipython_extension", "unload_ipython_extension"}
CALLABLE = sorted({name for name in tk.__all__ if not public_names.is_without_signature(getattr(tk, name))} - ERRORS)


def test_every_public_name_has_a_section() -> None:
    """Each public name is described once: errors on the page of errors, all others on the page of their family."""
    described = [name for text in PAGES.values() for name in reference.names_in(text)]
    assert sorted({*described} - {*public_names.RETURNED}) == sorted({*tk.__all__} - ERRORS)
    assert len(described) == len({*described})
    assert set(re.findall(r"^## `(\w+)`$", PAGES["errors"], re.MULTILINE)) == ERRORS


def test_attributes_of_errors_are_described() -> None:
    """The section of an error names the attributes of its own."""
    sections = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGES["errors"], re.MULTILINE | re.DOTALL))
    intro = PAGES["errors"].split("\n## ")[0]
    for name in ERRORS:
        parts = docstrings.sections(inspect.getdoc(getattr(tk, name)) or "")
        for attribute, _ in docstrings.entries(parts.get("Attributes", "")):
            text = intro if name == ToolkitError.__name__ else sections[name]
            assert attribute in text, (name, attribute)


@pytest.mark.parametrize("name", CALLABLE)
def test_every_argument_is_described(name: str) -> None:
    """The section of a name says what each argument means, once, and has no argument that does not exist."""
    value = getattr(tk, name)
    parts = docstrings.sections(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        parts = {**docstrings.sections(public_names.constructor_text(value)), **parts}
    assert parts[""].strip().endswith((".", ":", "`")) or "```" in docstrings.prose(parts[""])
    described = {
        word.strip("* ")
        for section in ("Args", "Attributes")
        for words, _ in docstrings.entries(parts.get(section, ""))
        for word in words.partition(" (")[0].split(",")
    }
    missing = {parameter.name for parameter in public_names.parameters_of(value)} - described
    assert name in CALLED_BY_IPYTHON or missing == set()


def test_members_exist() -> None:
    """The members that the reference lists exist and say what they are."""
    for name, members in public_names.MEMBERS.items():
        text = "" if not members else public_names.api(name)
        assert all(f"### `{name}.{member}`\n" in text for member in members.split()), name


def test_every_command_and_option_has_its_place() -> None:
    """The page of the command line has a section for each command, with every option."""
    from typer.main import get_command

    from toolkit.cli.app import app

    text = command_help.commands()

    def check(command: object, path: str) -> None:
        section = text.partition(f"## `{path}`\n")[2].partition("\n## ")[0]
        assert section, path
        for param in command.params:  # type: ignore[attr-defined]
            names = [name for name in param.opts if name.startswith("--")]
            assert all(name in section for name in names), (path, names)
        for name, inner in getattr(command, "commands", {}).items():
            check(inner, f"{path} {name}")

    check(get_command(app), "toolkit")


def test_every_setting_and_variable_is_described() -> None:
    """The page of settings has each key, address, variable and field that the code knows, and no other key."""
    text = PAGES["settings"]
    keys = set(re.findall(r"^\| `\[?(\w+)\]?` \|", text.partition("## Keys")[2].partition("\n## ")[0], re.MULTILINE))
    assert keys == set(settings._KEYS)
    assert all(f"| `{name}` | `{VARIABLES[name]}` |" in text for name in ADDRESS_NAMES)
    assert sorted(field for field in FIELDS if f"`{field.upper()}`" not in text) == []
    literals = {
        match
        for file in (ROOT / "toolkit").rglob("*.py")
        for match in re.findall(r"[\"'](TOOLKIT_[A-Z]+(?:_[A-Z]+)*)[\"']", file.read_text(encoding="utf-8"))
    }
    assert len(literals) > 5
    assert sorted(name for name in literals if f"`{name}`" not in text) == []


def test_every_key_of_a_cassette_is_described() -> None:
    """The page of the format has each key that the recorder writes, and each placeholder of the document."""
    text = PAGES["cassette-format"]
    source = inspect.getsource(interactions.encode)
    keys = re.findall(r'^        "(\w+)": ', source, re.MULTILINE)
    assert len(keys) > 8
    assert [key for key in keys if f"`{key}`" not in text] == []
    placeholders = [value for name, value in vars(Placeholder).items() if name.isupper()]
    assert [value for value in placeholders if f"`{value}`" not in text] == []
    assert [
        name for name in ADDRESS_NAMES if f"| `{name}` | `{name.replace('_', '-')}.svc.invalid` |" not in text
    ] == []


def test_start_page_leads_everywhere() -> None:
    """The start page names each tutorial, how-to page and explanation."""
    linked = {(NOTEBOOKS / link.partition("#")[0]).resolve() for link in links_of(NOTEBOOKS / "index.md")}
    pages = [path for door in ("0*.ipynb", "how-to/*.md", "explanation/*.md") for path in NOTEBOOKS.glob(door)]
    assert len(pages) > 25
    assert [path.name for path in pages if path not in linked] == []
