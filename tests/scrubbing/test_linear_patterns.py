from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.core.errors import ConfigurationError
from toolkit.scrubbing.rules import pattern_steps
from toolkit.scrubbing.rules.linear_patterns import _SLICE, LONGEST_MATCH, compile_linear
from toolkit.scrubbing.rules.model import Rules

ORDINARY = {
    r"ACC-\d+": "ACC-4711",
    r"[A-Z]{2}\d{8,12}": "DE123456789",
    r"(?:foo|bar)-\w+": "bar-x1",
    r"\b\d{3}-\d{2}-\d{4}\b": "123-45-6789",
    r'account[^"]*"(\d+)"': 'account no. "4711"',
    r"[\w.+-]+@[\w-]+\.[\w.-]+": "jo.doe@mail.example.com",
    r"[^@\s]+@[^@\s]+": "jo@example",
    r"(?:\d{4}[- ]?){4}": "4111 1111-11111111",
    r"(?:\d{1,3}\.){3}\d{1,3}": "192.168.0.1",
    r"(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}": "fe80:0:0:0:1:2:3:4",
    r"(?:\+?1[-. ]?)?\(?\d{3}\)?[-. ]?\d{3}[-. ]?\d{4}": "+1 (555) 123-4567",
    r"key=(.*)": "key=any thing",
    r"\btoken=(\S+)": "token=" + "x" * 5000,
    r"(?i)iban\s*[:=]\s*([A-Z]{2}\d{2}(?:\s?\w{4}){3,7})": "IBAN: DE12 3456 7890 1234 5678",
    r"\d+[.,]?\d*": "1234.56",
    r"<Account>.*?</Account>": "<Account>4711</Account>",
    r"(?s)BEGIN.*?END": "BEGIN\nx\nEND",
    r"(?:\w+\.)+com": "a.b.example.com",
    r"(?:\d+,)+": "1,22,333,",
    r"""(["'])(\d+)\1""": '"4711"',
    r"(?<=id=)\d+": "id=4711",
    r"\d+(?=EUR)": "17EUR",
    r"\$\s?\d{1,3}(?:,\d{3})*(?:\.\d{2})?": "$ 1,234,567.89",
    r"(?:a|b)*c": "ababc",
    r"(?:\w++\s?+)*+!": "many words here!",
    r"(?x) ACC - \d+  # a number * of it": "ACC-1",
    r"no: x{0,3900}y": "no: " + "x" * 3900 + "y",
    r"(?>(a+)+)b": "aab",
    r"\w+\s*\w+x": "very vex",
    r".*[a-z]{64}y": "-" * 5000 + "a" * 64 + "y",
    r"(?:a?b)?c": "abc",
    r"(?P<pin>\d{4,6})(?(pin)x|y)": "1234x",
}
LONG = [
    *(r"(a+)+b", r"(a*)*b", r"(a|aa)+$", r"(?:a|ab|b)*c", r"(x+x+)+y", r"([a-z]+)*\d", r"(a{1,9}){9}b"),
    *(r"-\w+\s*\w+\w*x", r"-x*x*y", r"(.*)(.*)(.*)x", r"(?:.*,){5}x", r"(?:\w+\s?)*x", r"-.*[a-z]{64}y"),
    *(r"(\w*)\1x", r"(?=.*a)b", r"a(?!\d*x)b", r"(?:a?){30}a{30}", "a?" * 25 + "a" * 25, r"(?:(?:a?)?){30}b"),
    *(r"(?:(?:\b)?){30}x", r"(?:\b|(?=a)){30}ax", r"(?:\b|(?=a))" * 30 + "ax"),
    *(r"x{0,60000}y", r"(?:x{0,900},){0,900}y", r"(?i)-(?:K|\u212a)*(?:k|s)*x", r"(?:a*|b*)(?:a*|b*)c", r"x{0,9000}y"),
]


def test_ordinary_patterns():
    """Patterns that people write are accepted, and match what they matched."""
    for text, sample in ORDINARY.items():
        matches = [match[0] for match in compile_linear(text).matches(f"; {sample} ;")]
        assert matches == [match[0] for match in re.finditer(text, f"; {sample} ;")], text
        assert Rules(patterns=[text]).compiled.patterns, text


@pytest.mark.parametrize("text", LONG)
def test_patterns_that_run_long(text):
    """Patterns that could run long are refused, and the error shows forms that are accepted."""
    with pytest.raises(ConfigurationError) as caught:
        Rules.of({"patterns": [text]}, where="~/project/toolkit.toml")
    assert "could run long" in caught.value.what
    assert "~/project/toolkit.toml" in caught.value.what
    assert caught.value.about == "patterns"
    for form in (r'account[^"]*"(\d+)"', r"[^\s@]+@[^\s@]+", r"(?:\w+,)+", r"\d{1,12}"):
        assert form in caught.value.next_step
        compile_linear(form)


@pytest.mark.parametrize("text", ["(", "a**", "[z-a]", "(?P<a", "(?<=a+)b", "a{3,2}", "(" * 5000 + ")" * 5000])
def test_malformed(text):
    """What is not a regular expression is refused as such."""
    with pytest.raises(ConfigurationError, match="not a regular expression"):
        compile_linear(text)


def longest(text, head, item, tail):
    """Return how often a pattern finds an item repeated between head and tail, up to 5,000 times."""
    pattern = compile_linear(text)
    return max(count for count in range(5000) if [*pattern.matches(f"{head}{item * count}{tail}")])


def test_limit():
    """A repetition that a match can fail after has a limit; one at the beginning or end has none, nor has a counted."""
    assert longest("a.*b", "a", "x", "b") == 256
    assert longest("abc.*b", "abc", "x", "b") == 500
    assert longest("-a++b", "-", "a", "b") == 256
    assert longest(r"=(?:\w+-)*!", "=", "x-", "!") == 32
    assert longest("abc[^b]{0,3000}b", "abc", "x", "b") == 3000
    assert longest("x+b", "", "x", "b") == longest(r"key=(\S+)", "key=", "x", " ") == 4999


@pytest.mark.parametrize("text", [r"\d+x", r"\d+x\d", r"\d+?(?=x)", r"(\d+)x|", r"(?i)[a-z]*b", r"(?m)^\w*$", r"x??\d"])
@given(st.text("12xb\n", max_size=30))
@example("12x34x5")
def test_same_matches(text, content):
    """The matches are those that `re` finds, in the middle of a run too."""
    spans = [match.span() for match in compile_linear(text).matches(content)]
    assert spans == [match.span() for match in re.finditer(text, content) if match[0] or match.span() in spans]
    assert all(match.span() in spans for match in re.finditer(text, content) if match[0])


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([0, LONGEST_MATCH, LONGEST_MATCH - 200]))
def test_slices(before, size, overlap):
    """The slices in which a long text is searched hide no match, wherever it stands."""
    content = "-" * (_SLICE + overlap - 20 + before) + "key=" + "1" * size + "x" + "-" * 3 * _SLICE
    for text in ("key(?:=[^x]{0,500}x-{200})?", r"key=(\d+)", r"\d+(?=x)", "(?<==)1+", r"\bkey=\d*x", r"key=(.*)"):
        assert [m.span() for m in compile_linear(text).matches(content)] == [
            m.span() for m in re.finditer(text, content)
        ]


pieces = st.recursive(
    st.sampled_from(["a", "b", "[ab]", ".", "[^a]", r"\w", "ab", r"\b", "^"]),
    lambda inner: st.one_of(
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "++", "?+"])),
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?>{})".format, inner),
    ),
    max_leaves=5,
)


class Ways:
    """An engine that tries every way to match, like `re`, and counts its steps."""

    def __init__(self, text):
        self.text, self.steps = text, 0

    def run(self, items, position, then):
        self.steps += 1
        if self.steps > 200_000:
            raise OverflowError
        if not items:
            return then(position)
        (operator, argument), rest = items[0], items[1:]
        after = lambda end: self.run(rest, end, then)
        kind = str(operator)
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self.repeat(argument, position, after, 0, is_greedy=kind == "MAX_REPEAT")
        if kind == "POSSESSIVE_REPEAT":
            return self.possessive(argument, position, after)
        if kind == "SUBPATTERN":
            return self.run([*argument[3]], position, after)
        if kind == "ATOMIC_GROUP":
            ends = []
            return self.run([*argument], position, lambda end: ends.append(end) or True) and after(ends[0])
        if kind == "BRANCH":
            return any(self.run([*items], position, after) for items in argument[1])
        if kind == "AT":
            return after(position)  # the most ways
        accepted = position < len(self.text) and matches(operator, argument, self.text[position])
        return accepted and after(position + 1)

    def repeat(self, argument, position, after, count, *, is_greedy):
        least, most, item = argument

        def again():
            on = lambda end: end != position and self.repeat(argument, end, after, count + 1, is_greedy=is_greedy)
            return int(most) > count and self.run([*item], position, on)

        if count < least:
            return again()
        return (again() or after(position)) if is_greedy else (after(position) or again())

    def possessive(self, argument, position, after):
        least, most, item = argument
        count = 0
        while count < int(most):
            ends = []
            if not self.run([*item], position, lambda end, ends=ends: ends.append(end) or True) or ends[0] == position:
                break
            position, count = ends[0], count + 1
        return count >= least and after(position)


def matches(operator, argument, character):
    from toolkit.scrubbing.rules.pattern_steps import _characters

    return character in _characters(operator, argument, 0)


@hypothesis_settings(max_examples=40)
@given(pieces, st.sampled_from(["a", "b", "ab", "aab", "a b", "abb"]), st.sampled_from(["", "!", "c"]))
@example("(?:a)*(?:a)*(?:a)*(?:a)*", "a", "")
@example("(?:(?:a){1,2}){4}(?:a)?", "a", "")
def test_steps(text, repeated, end):
    """An engine that tries every way takes no more steps from one place than the check says, however long the text."""
    tree = re._parser.parse(f"-(?:{text})!c")
    rest = pattern_steps.RestOfPattern(frozenset(), is_tried_again=False, can_fail=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_steps, "_LIMIT_IN_LOOPS", 4)
        try:
            cost = pattern_steps.StepCounter(tree, 6, None).sequence(tree, tree.state.flags, rest)
        except pattern_steps.PatternRunsLongError:
            assume(False)
    engine = Ways(f"-{repeated * 12}{end}")
    engine.run([*tree], 0, lambda _: False)  # no match counts, so that every way is tried
    assert engine.steps <= 5 * cost.steps + 20


@pytest.mark.parametrize(
    "repeated", ["account", "1", "a", 'a"', "1,", "a.", "token=", "<Account>", "BEGIN", " ", "1-", "\n"]
)
def test_hostile_text(repeated):
    """No accepted pattern hangs on 20 kB of text that nearly matches."""
    for text in ORDINARY:
        for _ in compile_linear(text).matches(repeated * (20_000 // len(repeated))):
            pass
