"""Secrets are never forgotten, and each recording has its own placeholders for those of the whole process."""

from __future__ import annotations

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
