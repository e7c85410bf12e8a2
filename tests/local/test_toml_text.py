"""TOML of anybody is read or refused, in little memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.text import printable
from toolkit.local.settings import Settings
from toolkit.local.toml_text import NotToml, load_toml

DEEP = 100_000
HOSTILE = {
    "deep lists": ("a = " + "[" * DEEP, "nested too deeply"),
    "deep tables": ("a = " + "{a=" * DEEP, "nested too deeply"),
    "a long number": ("a = " + "9" * DEEP, "number is too long"),
    "a long key": ("\n" + "a." * DEEP + "a = 1", r"too many parts \(at line 2\)"),
    "a long header": ("[" + "a." * DEEP + "a]", "too many parts"),
    "a long key in a value": ("b = {" + "a." * DEEP + "a = 1}", "too many parts"),
    "quoted keys": ('"a b".' * DEEP + "a = 1", "too many parts"),
}


@pytest.mark.parametrize(("text", "why"), HOSTILE.values(), ids=HOSTILE)
def test_hostile(text, why):
    """Text that would exhaust the parser is refused, in little memory."""
    tracemalloc.start()
    with pytest.raises(NotToml, match=why):
        load_toml(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_honest():
    """Long lists, long texts and texts with many dots are read."""
    assert len(load_toml("a = [" + '"$.a.b.c", ' * 2_000 + "]")["a"]) == 2_000
    assert load_toml('[a.b]\nc.d = "' + "1.2." * 5_000 + '"')["a"]["b"]["c"]["d"].startswith("1.2.")


NAMES = [
    "header_prefix",
    "cassettes",
    "addresses",
    "scrubbing",
    "addresses.auth",
    "scrubbing.patterns",
    "other",
    '"\\u202e"',
]
VALUES = [
    *("99999999999999999999", "0x" + "f" * 5000, "9" * 5000, "1e999", "-inf", "nan", "true", "2026-05-12", "07:32:00"),
    *(
        '"\\u0000"',
        '"\\u202e\\u0007"',
        '"a\\nb"',
        '"~nobody-of-that-name/x"',
        '"' + "x" * 5000 + '"',
        "[]",
        "{}",
        "[[]]",
    ),
    *('"https://h:99999"', '"https://h:' + "9" * 5000 + '"', '"http://localhost:0"', '"https://[::1%eth0]"'),
    *('"https://h/\\u0000"', "[1]", "[2026-05-12]", '["["]', '["\\u0000"]', "[" * 300 + "]" * 300, "{a = {b = 1}}"),
]


def used(file, environ):
    """Load settings and use them in all ways; what they show, and their typed refusals, are safe to print."""
    shown = []
    try:
        settings = Settings.load(file, environ=environ)
        shown += [repr(settings), settings._repr_html_()]
        shown += [str(settings.cassettes_folder.name.isascii()), str(settings.address("auth"))]
    except ToolkitError as error:
        shown.append(str(error))
    assert printable("".join(shown)) == "".join(shown)


@given(st.sampled_from(NAMES), st.sampled_from(VALUES))
def test_odd_values(tmp_path_factory, name, value):
    """A setting of an odd type or value is used or refused with a typed error that is safe to print."""
    file = tmp_path_factory.mktemp("project") / "toolkit.toml"
    file.write_text(f"{name} = {value}\n", encoding="utf-8")
    used(file, {})
