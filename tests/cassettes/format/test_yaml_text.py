"""YAML is written exactly and in ASCII, and loaded safely."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format.yaml_text import NotYaml, dump, load


@given(st.data())
def test_round_trip(bodies, data):
    """Any text and any bytes survive, as values and as keys, with libyaml and with the pure Python loader."""
    body = data.draw(bodies())
    text = data.draw(st.text(max_size=30))
    value = [{"bytes": body, "text": text, text: [text, {"deep": text}]}]
    dumped = dump(value)
    assert load(dumped) == value
    assert yaml.load(dumped, Loader=yaml.SafeLoader) == value


@given(st.text(max_size=200), st.integers(0, 3))
def test_ascii(text, depth):
    """The output is ASCII, so a reader with any default encoding reads the same."""
    value = text
    for _ in range(depth):
        value = {"key": [value]}
    dump(value).decode("ascii")


@pytest.mark.parametrize("text", ["a\nb", '{\n  "a": 1\n}\n', "a" * 5000])
def test_readable(text):
    """Text of several lines is written as a block, and long lines are not folded."""
    lines = dump({"a": text}).decode().splitlines()
    assert [
        line.removeprefix("a: ").removeprefix("  ") for line in lines if line not in ("a: |", "a: |-")
    ] == text.splitlines()


def test_no_aliases():
    """A value that occurs twice is written twice: an anchor could not be split from its alias."""
    shared = ["x"]
    assert b"&" not in dump({"a": shared, "b": shared})


LEVELS = 100_000
BOMB = "\n".join(["a0: &a0 [x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 60))])
SMALL_BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} {{b: *a{n - 1}, c: *a{n - 1}}}" for n in range(1, 30))])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("a: 1\nb: " + "[" * LEVELS, "nested too deeply"),
        ("a: 1\nb: " + "{a: " * LEVELS, "nested too deeply"),
        ("a: 1\nb:\n" + "- " * LEVELS + "x", "nested too deeply"),
        ("a: 1\nb:\n" + "? " * LEVELS + "x", "nested too deeply"),
        ("a: 1\nb:\n" + "".join(" " * level + "-\n" for level in range(1, 1500)), "nested too deeply"),
        ("a: 1\nb:\n" + "".join(" " * level + "a:\n" for level in range(1, 1500)), "nested too deeply"),
        ("a: 1\nb:\n" + "".join(" " * level + "a:\n" + " " * level + "-\n" for level in range(1, 400)), "too deeply"),
        ("a: 1\nb: 1" + ":30" * LEVELS, "a number is too long"),
        ("a: 1\nb: !!int '1" + ":30" * LEVELS + "'", "a number is too long"),
        ("a: 1\nb: 1" + ":30" * LEVELS + ".5", "a number is too long"),
        (BOMB, "aliases repeat too much"),
        (SMALL_BOMB, "aliases repeat too much"),
    ],
    ids=[
        *("lists", "mappings", "block lists", "keys", "lists on lines", "mappings on lines", "both on lines"),
        *("base 60", "base 60 in quotes", "base 60 with a fraction", "aliases", "few aliases"),
    ],
)
def test_hostile_yaml_is_refused(data, what):
    """Nesting that would overflow the stack, and aliases that multiply, are refused before a loader runs."""
    with pytest.raises(NotYaml, match=what) as caught:
        load(data.encode())
    assert caught.value.line > 0


def test_large_but_harmless_yaml():
    """Many brackets in texts, many items and many aliases of small values are loaded."""
    value = {"a": "[{" * 5000, "b": [{"c": [1]}] * 5000, "d": " " * 5000, "e": "00:11:22:33" * 500, "f": "x\n\n" * 9}
    assert load(yaml.safe_dump(value).encode()) == value


@pytest.mark.parametrize(
    ("data", "what", "line"),
    [
        (b"a: !!python/object/apply:os.getcwd []", "python/object/apply:os.getcwd", 0),
        (b"a: 1\nb: }\nc: 2\n", "expected", 1),
        (b"a: 1\nb: *c", "undefined alias", 1),
        (b"a: \x00", "does not allow", 0),
        (b"a: \xff\xfe\xfd", "does not allow", 0),
        (("a: [" + "[" * 100_000).encode("utf-16"), "not UTF-8", 0),
    ],
)
def test_not_yaml(data, what, line):
    """Anything but YAML of plain types is refused with its line, counted from 0, and nothing in it runs."""
    with pytest.raises(NotYaml) as caught:
        load(data)
    assert what in str(caught.value)
    assert caught.value.line == line
