"""Secrets are found in files however people, programs and services write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.planted_project import fake
from toolkit.scrubbing.scanning.source_text import secrets_in

DATA = Path(__file__).parents[1] / "data"
# Texts around a secret, by the kind of the finding.
WRITTEN = json.loads((DATA / "written.json").read_text("utf-8"))


def kinds(text):
    return [kind for _, kind, _ in sorted(secrets_in(text))]


@pytest.mark.parametrize("kind", WRITTEN)
def test_each_way_to_write_a_secret(kind):
    """A secret is found where people and programs write it."""
    for template in WRITTEN[kind]:
        secret = fake(24)
        text = template.format(*[secret] * template.count("{}"))
        assert kinds(text) == [kind], template


@pytest.mark.parametrize("word", ["changeme", "your-password", "<password>", "$PASSWORD", "required", "********"])
def test_words_in_the_place_of_secrets(word):
    """Stand-ins and words are no findings in any of these places."""
    for template in (each for group in WRITTEN.values() for each in group):
        assert kinds(template.format(*[word] * template.count("{}"))) == [], template


@pytest.mark.parametrize("text", json.loads((DATA / "ordinary.json").read_text("utf-8")))
def test_ordinary_text(text):
    """Code, documentation, cursors, public keys, identifiers and stand-ins are no findings."""
    text = text.replace("%s", fake(40))
    assert kinds(text) == kinds(json.dumps(text)) == []


def test_passwords_that_people_make():
    """Passwords that people make up are found in source and settings, under names that can only be a credential's."""
    lines = (DATA / "made_by_people.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if kinds(line.replace("\\n", "\n") + "\n") != ["secret field"]] == []


def test_lines():
    """Each finding has the line of its value, also behind escaped line breaks; an escaped value is found once."""
    lines = [
        "a%0Ab",
        f"password={fake(24)}",
        "x-api-key:",
        f"  - {fake(24)}",
        "",
        f"?to=https%3A%2F%2Fh%2F%3Fapi_key%3D{fake(24)}",
    ]
    places = sorted(secrets_in("\n".join(lines)))
    assert [place[:2] for place in places] == [(line, "secret field") for line in (2, 4, 6)]
