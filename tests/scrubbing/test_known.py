"""Secrets are never forgotten, and each recording has its own placeholders for those of the whole process."""

from __future__ import annotations

import base64

import pytest

from toolkit.core.secret import REGISTER, Secret
from toolkit.scrubbing.known import KnownSecrets

TOKEN = "obviously-fake-token-1"


def known(*texts):
    return KnownSecrets(("ACCESS_TOKEN", Secret(text)) for text in texts)


def test_a_secret_within_a_secret():
    """A secret that contains another is replaced as a whole, whichever became known first."""
    for texts in (("fake-token", "fake-token-longer"), ("fake-token-longer", "fake-token")):
        scrubbed = known(*texts).scrub(b"fake-token-longer fake-token")
        assert sorted(scrubbed.split()) == [b"<ACCESS_TOKEN-2>", b"<ACCESS_TOKEN>"]


def test_short_secrets():
    """A short secret is replaced only in the places of credentials, and a warning says so."""
    with pytest.warns(UserWarning, match="kind PASSWORD has fewer than 8 characters") as caught:
        short = KnownSecrets([("PASSWORD", Secret("pw1"))])
    assert "pw1" not in str(caught[0].message)
    assert short.scrub(b'{"name": "pw1"}') == b'{"name": "pw1"}'
    assert len(known("<PASSWORD>", "")) == 0  # neither is a secret


def test_what_messages_name():
    """The latest values that messages named are replaced as text, not in codes, and they refuse no recording."""
    one, texts = known(), [f"value-{number}-of-a-message" for number in range(97)]
    for number, text in enumerate(texts, start=1):
        one.note([("API_KEY", Secret(text)), ("API_KEY", Secret("<ACCESS_TOKEN>"))])
        assert number != 60 or one.scrub_text(texts[0]) == "<API_KEY>"
    assert one.scrub_text(f"{texts[0]} {texts[-1]} <ACCESS_TOKEN>") == f"{texts[0]} <API_KEY-97> <ACCESS_TOKEN>"
    coded = base64.b64encode(texts[-1].encode())
    assert one.scrub(coded) == coded
    assert one.find(texts[-1].encode()) is None


def test_a_large_file_is_searched_in_pieces(monkeypatch):
    """A file is cut between its interactions, so that searching it needs little memory, and nothing is left out."""
    monkeypatch.setattr("toolkit.scrubbing.known._PIECE", 40)
    items, pieces = [b"\n- request: number %d" % number for number in range(9)], []

    class Noting(KnownSecrets):
        def find(self, data, budget=None):
            pieces.append(data)
            return super().find(data, budget)

    one = Noting([("ACCESS_TOKEN", Secret(TOKEN))])
    assert not one.is_in(b"".join(items))
    assert b"".join(pieces) == b"".join(items)
    assert max(map(len, pieces)) < 70
    assert all(one.is_in(b"".join([*items[:at], TOKEN.encode(), *items[at:]])) for at in range(9))


@pytest.mark.parametrize(
    ("written", "scrubbed"),
    [(r'"a\nobody-knows-it"', '"a<ACCESS_TOKEN>"'), (r'"\\nobody-knows-it"', r'"\\<ACCESS_TOKEN>"')],
)
def test_a_backslash_before_a_secret(written, scrubbed):
    """A backslash goes with the first character of a secret if it escapes that, so that JSON stays JSON."""
    assert known("nobody-knows-it").scrub_text(written) == scrubbed


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_secret_in_utf_16(codec):
    """A placeholder is in the encoding of the text around it."""
    assert known(TOKEN).scrub(f"{TOKEN} b".encode(codec)) == "<ACCESS_TOKEN> b".encode(codec)


def test_what_another_recording_learned():
    """A secret of the register is replaced in each recording, with a placeholder from when it is first met there."""
    first, second = known(), known("second-fake-token")
    REGISTER.add_all([("ACCESS_TOKEN", Secret(text)) for text in ("third-fake-token", "fourth-fake-token")])
    assert second.may_hold(b"third-fake-token")
    assert second.scrub(b"fourth-fake-token") == b"<ACCESS_TOKEN-2>"
    assert second.scrub_text("third-fake-token second-fake-token") == "<ACCESS_TOKEN-3> <ACCESS_TOKEN>"
    assert first.scrub_text("third-fake-token") == "<ACCESS_TOKEN>"
    assert first.placeholder_of(Secret("second-fake-token")) == "<ACCESS_TOKEN-2>"
    assert first.placeholder_of(Secret("something else")) is None
    assert first.find(b"fourth-fake-token") == ("<ACCESS_TOKEN-3>", "as it is")


def test_personal_data_stays_in_its_recording():
    """The stand-ins of rules are replaced in their own recording only; a secret keeps its placeholder."""
    first, second = known(TOKEN), known()
    first.add_stand_ins([(Secret("4711000815"), "1234567890"), (Secret(TOKEN), "a-name")])
    assert first.scrub_text(f"4711000815 {TOKEN}") == "1234567890 <ACCESS_TOKEN>"
    assert first.placeholder_of(Secret("4711000815")) == "1234567890"
    assert second.scrub_text("4711000815") == "4711000815"
    assert len(REGISTER) == 1
    REGISTER.add("SECRET", Secret("4711000815"))
    assert first.scrub_text("4711000815") == "1234567890"
    assert second.scrub_text("4711000815") == "<SECRET>"
    REGISTER.add("PASSWORD", Secret("of-another-session"))
    first.add_stand_ins([(Secret("of-another-session"), "a-name")])
    assert first.scrub_text("of-another-session") == "<PASSWORD>"
