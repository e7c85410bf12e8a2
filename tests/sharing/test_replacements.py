"""Values are replaced in texts and in code, in the forms in which people write them, and nothing else is."""

from __future__ import annotations

import ast
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit.sharing.publishing.replacements import Replacements, names_in, normal_text

NUMBER, NAME, SHORT = "4711000815", "Ada Lovelace", "Zazu"
REPLACEMENTS = Replacements({NUMBER: "9026337718", NAME: "Qkx Wbnrtpoe", SHORT: "Fhzy", "X-1": "<KIND>"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Account {NUMBER}.", "Account 9026337718."),
        ("Account 4711-0008-15, or 4711 000 815", "Account 9026337718, or 9026337718"),
        ("ADA LOVELACE, ada_lovelace, Ada+Lovelace", "Qkx Wbnrtpoe, Qkx_Wbnrtpoe, Qkx+Wbnrtpoe"),
        ("**Ada** Lovelace's", "**Qkx** Wbnrtpoe's"),
        ("Zazu, Zazus, zazu", "Fhzy, Zazus, zazu"),
        ("X-1 and X1 and X-12", "<KIND> and X1 and X-12"),
        ("47110008150, Ada\n\nLovelace, Ada ... and Lovelace", "47110008150, Ada\n\nLovelace, Ada ... and Lovelace"),
    ],
)
def test_text(text, expected):
    """A long value is found in any case and grouping, a short one as a whole word, as it is written."""
    assert REPLACEMENTS.text(text) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"get('/a/{NUMBER}')  # of {NAME}", "get('/a/9026337718')  # of Qkx Wbnrtpoe"),
        ("number = 4_711_000_815", "number = 9026337718"),
        ("ada_lovelace = Zazu = 'Zazu'", "Qkx_Wbnrtpoe = Zazu = 'Fhzy'"),
        (
            "f'{ada_lovelace!r:>{ada_lovelace}} Zazu {{Zazu}} {Zazu}'",
            "f'{Qkx_Wbnrtpoe!r:>{Qkx_Wbnrtpoe}} Fhzy {{Fhzy}} {Zazu}'",
        ),
        (f"%%time\nx = '{SHORT}'\n!echo {NAME}", "%%time\nx = 'Fhzy'\n!echo Qkx Wbnrtpoe"),
        (f"%%html\n<b>it's {NAME}", "%%html\n<b>it's Qkx Wbnrtpoe"),
        ("", ""),
    ],
)
def test_source(source, expected):
    """In code, names stay names and numbers stay numbers; a short value is replaced in texts only."""
    assert REPLACEMENTS.source(source) == expected


def test_a_placeholder_in_place_of_a_number_is_a_text():
    """What replaces a number in code is quoted if it is not a number, so that the code is still Python."""
    source = Replacements({NUMBER: "<ACCOUNT>"}).source(f"pay(account={NUMBER})")
    assert source == "pay(account='<ACCOUNT>')"


WORD = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)


@given(
    st.lists(WORD, min_size=1, max_size=4), st.lists(st.sampled_from([" ", "-", "_", " - "]), min_size=4, max_size=4)
)
def test_a_long_value_is_found_however_it_is_written(words, gaps):
    """Whatever the case and the separators of its words, nothing of a long value is left in a text."""
    value = " ".join(words)
    assume(len(normal_text(value)) >= 8)
    replacements = Replacements({value: "§"})
    written = "".join(part for pair in zip(words, gaps, strict=False) for part in pair).rstrip(" -_").upper()
    assert replacements.holds(f"see {written}.")
    assert replacements.text(f"see ({written}).") == "see (§)."


@given(st.sampled_from([f"x = '{NUMBER}'", "def f(ada_lovelace): return ada_lovelace", f"y = {{1: {NUMBER}}}"]))
def test_code_stays_code(source):
    """Replaced code parses as before."""
    changed = REPLACEMENTS.source(source)
    assert not REPLACEMENTS.holds(changed)
    assert type(ast.parse(changed).body[0]) is type(ast.parse(source).body[0])


def test_names_in_code():
    """The words of names are found, those of expressions in formatted texts too, and not those of texts."""
    assert names_in("total_cash = f'Zazu {Account.name}'") == {"total", "cash", "account", "name"}
    assert names_in("%%html\n<b>it's") == set()
