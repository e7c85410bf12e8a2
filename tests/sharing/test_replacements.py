"""Values are replaced in texts and in code, in the forms in which people write them, and nothing else is."""

from __future__ import annotations

import ast
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit.sharing.publishing.replacements import Replacements, normal_text, ordinary_names

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


@pytest.mark.parametrize("text", ["José Ñandú-Li", "Jose\u0301 N\u0303andu\u0301-Li", "Jose Nandu Li", "JOSÉ ÑANDÚ LI"])
def test_accents_are_written_in_many_ways(text):
    """A name is found with its accents, with accents as characters of their own, and without accents."""
    assert Replacements({"José Ñandú-Li": "§"}).text(f"({text}, and Jose\u0301 2)") == "(§, and Jose\u0301 2)"
    assert Replacements({"José": "§"}).text("Jose, Jose\u0301, josé, Joseph") == "§, §, josé, Joseph"


def test_scripts_without_gaps_between_words():
    """A name in Japanese is found within a run of letters, and with another gap in its middle."""
    replacements = Replacements({"山田 太郎": "oa mzl", "太郎": "mzl"})
    assert replacements.text("山田太郎さんと山田・太郎。太郎は") == "oa mzlさんとoa mzl。mzlは"
    assert replacements.holds("は太郎は")
    assert not replacements.holds("山田")


def test_signs_before_a_value():
    """The sign with which a value begins is part of it, however often the text escapes it, and need not be there."""
    replacements = Replacements({"+41 79 555 01 23": "+1", "(212) 555-0147": "(2)", "\\u00c9va-Lovelace": "Q"})
    assert replacements.text("+41795550123; 41 79-555-0123; 212 555 0147; (212) 5550147") == "+1; +1; (2); (2)"
    assert replacements.text(r"x \\u00C9va-Lovelace") == "x Q"


def test_parts_of_names_in_code():
    """A part of a name is replaced in the names of code and in texts that are nothing else, in its case."""
    replacements = Replacements({"Quimby": "Yvgapu"}, parts={"quimby": "Yvgapu", "bob": "Kdj"})
    source = "quimby_2, Bob = f(name='bob'), f'{BOB} bob'  # bob, Quimby\nquery('%quimby%', \"bob's\")"
    assert replacements.source(source) == (
        "yvgapu_2, Kdj = f(name='kdj'), f'{KDJ} bob'  # bob, Yvgapu\nquery('%yvgapu%', \"bob's\")"
    )


def test_ordinary_names():
    """The words of names that code does not bind are ordinary; its variables, functions and arguments are not."""
    code = "import pandas as pd\ndef f(quimby, *, k=1): return quimby.price\ntotal_cash = f'Zazu {Account.name}'"
    assert ordinary_names([code, "%time f(total_cash, mode=max)"]) == {"pandas", "price", "account", "name"}
    assert ordinary_names(["x = f(mode=max(x))", "def f(): pass"]) == {"mode", "max"}
    assert ordinary_names(["%%html\n<b>it's"]) == set()
    assert ordinary_names(["x = ("]) == {"x"}
