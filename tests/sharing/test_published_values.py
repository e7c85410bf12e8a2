"""Which values are replaced outside of the places where rules find them."""

from __future__ import annotations

import pytest
from recordings import make_interaction

from toolkit.sharing.publishing.replacements import Replacements
from toolkit.sharing.publishing.values import candidates, ordinary_words, parts_of_names, settled, values_for_texts


def test_ordinary_words_stay():
    """A short value that is also the name of a field, a path or the value of another field stays elsewhere."""
    recorded = [make_interaction("/v1/main", b'{"nick": "<NICK>", "currency": "USD", "Zoe": [1]}')]
    ordinary = ordinary_words(recorded)
    assert {"nick", "usd", "zoe", "main", "v1"} <= ordinary
    values = {"USD": "A", "main": "B", "Zoe": "C", "Zazu": "D", "true": "E", "No": "F", "AB1234": "G", "<NICK>": "H"}
    assert values_for_texts(values, {*ordinary, "ab1234"}) == {"Zazu": "D", "AB1234": "G"}


def test_names_of_persons_have_more_forms():
    """A name is replaced with the family name first and in parts, unless a part is an ordinary word."""
    values = values_for_texts({"Ada Trading King": "Qkx Wbnrtpo Hjkl"}, {"trading"})
    assert values["King, Ada Trading"] == "Hjkl, Qkx Wbnrtpo"
    assert (values["Ada"], values["King"]) == ("Qkx", "Hjkl")
    assert "Trading" not in values
    assert (values["KING"], values.get("king")) == ("HJKL", None)
    assert set(values_for_texts({"Savings 12345678": "x"}, set())) == {
        "Savings 12345678",
        "Savings%2012345678",
        "Savings+12345678",
    }
    values = values_for_texts({"Eva Quimby": "Qkx Wbnrtp", "山田 太郎": "oa mzl"}, set())
    assert (values["quimby"], values.get("eva"), values["太郎"]) == ("wbnrtp", None, "mzl")
    values = values_for_texts({"Quimby, Eva": "Wbnrtp, Qkx"}, set())
    assert (values["Eva Quimby"], values["Quimby"], values["Eva"]) == ("Qkx Wbnrtp", "Wbnrtp", "Qkx")
    assert parts_of_names({"Ada Trading King": "a b c"}, {"trading"}) == {"ada": "a", "king": "c"}


@pytest.mark.parametrize(
    "text",
    [
        "Zoë Li",
        r"Zo\u00eb Li",
        "Zo%C3%AB%20Li",
        "Zo%C3%AB+Li",
        "Zo&#235; Li",
        "Zo&euml; Li",
        "Zoe Li",
        "Li, Zoë",
        "Zoë",
    ],
)
def test_short_names_are_found_as_systems_write_them(text):
    """The recorder looks for long values in encoded forms; publishing writes out those of short ones."""
    replacements = Replacements(values_for_texts({"Zoë Li": "Qkx Wb"}, set()))
    assert replacements.holds(text)
    assert not any(word in replacements.text(text) for word in ("Zo", "Li"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Jörg Größe", "joerg_groesse"),
        ("+41 79 555 01 23", "0041795550123"),
        ("+41 79 555 01 23", "+41 (0)79 555 01 23"),
        ("+41 79 555 01 23", "079 555 01 23"),
        ("+1 212 555 0147", "(212) 555-0147"),
        ("077000001", "77000001"),
    ],
)
def test_numbers_and_names_as_people_write_them(value, text):
    """Umlauts as two letters, phone numbers as dialled at home, and numbers without leading zeros are found."""
    assert Replacements(values_for_texts({value: "§"}, set())).text(f"a {text} b") == "a § b"


def test_what_looks_like_a_form_of_a_number_stays():
    """Short numbers are not found without their zeros, nor dates and amounts for phone numbers."""
    replacements = Replacements(values_for_texts({"0012345": "§", "+41 79 555 01 23": "§"}, set()))
    assert replacements.text("12345, 555 0123, 2026-11-22, 1,234,567.89") == "12345, 555 0123, 2026-11-22, 1,234,567.89"


def test_a_stand_in_of_a_stand_in_replaces_both():
    """A recording that was made with the rules holds stand-ins, which get stand-ins in turn; a circle ends."""
    assert settled([("a", "b"), ("b", "c"), ("x", "x"), ("", "y")]) == {"a": "c", "b": "c"}
    assert settled([("a", "b"), ("b", "a")]) == {}


def test_candidates():
    """Words, runs of words, cells of tables and literals may be values."""
    found = candidates(["mail ada@mail.example, **Ada King** of 'Ada & Co'", "<td>Jo &amp; Al</td>", "0  Max Mo  USD"])
    assert {"ada@mail.example", "Ada King", "Ada & Co", "Jo & Al", "Max Mo", "USD"} <= set(found)
