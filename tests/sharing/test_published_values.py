"""Which values are replaced outside of the places where rules find them."""

from __future__ import annotations

from recordings import make_interaction

from toolkit.sharing.publishing.values import candidates, ordinary_words, settled, values_for_texts


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
    assert list(values_for_texts({"Savings 12345678": "x"}, set())) == ["Savings 12345678"]


def test_a_stand_in_of_a_stand_in_replaces_both():
    """A recording that was made with the rules holds stand-ins, which get stand-ins in turn; a circle ends."""
    assert settled([("a", "b"), ("b", "c"), ("x", "x"), ("", "y")]) == {"a": "c", "b": "c"}
    assert settled([("a", "b"), ("b", "a")]) == {}


def test_candidates():
    """Words, runs of words, cells of tables and literals may be values."""
    found = candidates(["mail ada@mail.example, **Ada King** of 'Ada & Co'", "<td>Jo &amp; Al</td>", "0  Max Mo  USD"])
    assert {"ada@mail.example", "Ada King", "Ada & Co", "Jo & Al", "Max Mo", "USD"} <= set(found)
