"""Known secrets are never forgotten, and those of all live sessions are masked together."""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import secrets
import warnings
import weakref

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from toolkit.core.secret import Secret
from toolkit.scrubbing.encoded_forms import Forms
from toolkit.scrubbing.known import KnownSecrets, SessionSecrets

TOKEN = "obviously-fake-token-1"
PEM = (
    "-----BEGIN PRIVATE KEY-----\nobviouslyfake0123456789abcdefghij\nklmnopqrstuvwxyz+/==\n-----END PRIVATE KEY-----\n"
)


def known(*texts):
    return KnownSecrets(("ACCESS_TOKEN", Secret(text)) for text in texts)


def test_distinct_secrets_keep_distinct_placeholders():
    """Secrets of one kind are numbered in the order in which they became known, and keep their numbers."""
    several = known("first-fake-token", "second-fake-token", "first-fake-token")
    several.add("CLIENT_SECRET", Secret("a-fake-client-secret"))
    several.add("ACCESS_TOKEN", Secret("third-fake-token"))
    text = "third-fake-token first-fake-token a-fake-client-secret second-fake-token"
    assert several.scrub_text(text) == "<ACCESS_TOKEN-3> <ACCESS_TOKEN> <CLIENT_SECRET> <ACCESS_TOKEN-2>"
    assert len(several) == 4
    assert repr(several) == "<KnownSecrets: 4>"


def test_a_secret_within_a_secret():
    """A secret that contains another is replaced as a whole, whichever became known first."""
    for texts in (("fake-token", "fake-token-longer"), ("fake-token-longer", "fake-token")):
        scrubbed = known(*texts).scrub(b"fake-token-longer fake-token")
        assert sorted(scrubbed.split()) == [b"<ACCESS_TOKEN-2>", b"<ACCESS_TOKEN>"]


@pytest.mark.parametrize("text", ["", "<ACCESS_TOKEN>", "<ACCESS_TOKEN-2>", "Bearer <ACCESS_TOKEN>"])
def test_texts_that_are_not_secrets(text):
    """An empty text and a placeholder are not secrets."""
    assert len(known(text)) == 0


def test_short_secrets():
    """A short secret is replaced only in the places of credentials, and a warning says so."""
    with pytest.warns(UserWarning, match="kind PASSWORD has fewer than 8 characters") as caught:
        short = KnownSecrets([("PASSWORD", Secret("pw1"))])
    assert "pw1" not in str(caught[0].message)
    assert short.scrub(b'{"password": "pw1", "name": "pw1"}') == b'{"password": "<PASSWORD>", "name": "pw1"}'


def test_one_text_or_several():
    """A single text is one secret, not the letters of the text."""
    for given_secrets in (TOKEN, Secret(TOKEN), [TOKEN], (Secret(TOKEN),), iter([TOKEN])):
        several = KnownSecrets()
        several.add_texts(given_secrets)
        assert len(several) == 1
        assert several.scrub_text(TOKEN) == "<SECRET>"


def test_text_without_secrets_is_the_same_object():
    """A text is not copied if nothing is known."""
    text = "x" * 100
    assert KnownSecrets().scrub_text(text) is text


@pytest.mark.parametrize("text", ["añb\udcff" + TOKEN, "\ud800 " + TOKEN, "日本" + TOKEN])
def test_odd_text(text):
    """Text with lone surrogates is scrubbed like any other."""
    assert known(TOKEN).scrub_text(text) == text.replace(TOKEN, "<ACCESS_TOKEN>")


def test_the_first_of_many_is_not_forgotten(monkeypatch):
    """Each of thousands of secrets is found, and only candidates are searched for exactly."""
    texts = [f"fake-{hashlib.sha256(b'%d' % number).hexdigest()}" for number in range(1000)]
    many = known(*texts)
    searched = []
    monkeypatch.setattr(Forms, "replace_in", counted(searched, Forms.replace_in))
    assert many.scrub(b"nothing of interest " * 50) == b"nothing of interest " * 50
    assert len(searched) < 5
    encoded = base64.b64encode(b"x" + texts[0].encode())
    # The e is what base64 makes of the x.
    assert many.scrub(texts[999].encode() + b" " + encoded) == b"<ACCESS_TOKEN-1000> e<ACCESS_TOKEN>"
    assert len(searched) < 50


def counted(calls, function):
    def wrapper(*arguments):
        calls.append(1)
        return function(*arguments)

    return wrapper


def test_listeners_and_followers():
    """Secrets that become known together reach listeners in one call, and followers with their stand-ins."""

    class Listener:
        heard = 0

        def hear(self):
            self.heard += 1

    listener, first, second = Listener(), known(), known()
    first.subscribe(listener.hear)
    first.add_stand_ins([(Secret("4711000815"), "1234567890")])
    first.share_with(second)
    first.share_with(second)
    first.add_all([("SECRET", Secret("one-fake-secret")), ("SECRET", Secret("another-fake-secret"))])
    first.add("SECRET", Secret("one-fake-secret"))
    assert listener.heard == 2
    assert second.scrub_text("4711000815 another-fake-secret") == "1234567890 <SECRET-2>"
    assert second.placeholder_of(Secret("4711000815")) == "1234567890"
    assert second.placeholder_of(Secret("something else")) is None
    del listener
    first.add("SECRET", Secret("a third fake secret"))


def test_followers_are_not_kept():
    """A follower can be collected, and a short secret is warned about once however many objects know it."""
    first, second = known(), known()
    first.share_with(second)
    with pytest.warns(UserWarning, match="fewer than 8") as warned:
        first.add("SECRET", Secret("short"))
    third = known()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first.share_with(third)
    assert len(warned) == 1
    assert third.scrub_text("password=short") == "password=<SECRET>"
    end = weakref.ref(second)
    del second
    gc.collect()
    assert end() is None
    first.add("SECRET", Secret("another-fake-secret"))
    assert third.scrub_text("another-fake-secret") == "<SECRET-2>"


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"key": PEM}),
        PEM.replace("\n", ""),
        "".join(PEM.split("\n")[1:3]),
        "  " + PEM.replace("\n", "\n  "),
    ],
)
def test_a_private_key_in_lines_of_any_length(data):
    """The text of a private key is found however it is broken into lines."""
    key = KnownSecrets([("PRIVATE_KEY", Secret(PEM))])
    assert key.find_across_lines(data.encode())
    assert "obviouslyfake" not in key.scrub(data.encode()).decode()


def test_may_hold():
    """A quick check says whether an exact search is worthwhile, also for text broken into lines."""
    one = known("obviously-fake-token-1")
    assert not known().may_hold(b"obviously-fake-token-1")
    assert not one.may_hold(b"nothing of it")
    assert one.may_hold(b"see obviously-fake-token-1")
    assert one.may_hold(base64.encodebytes(b"x" * 50 + b"obviously-fake-token-1"))


@pytest.mark.parametrize("times", [0, 1, 2, 4])
def test_letters_as_entities(times):
    """A secret in HTML character references is found, however often they were escaped again."""
    text = "".join(f"&{'amp;' * times}#{ord(one)};" for one in "fake-secret-4f9aQ7").encode()
    known = KnownSecrets([("SECRET", Secret("fake-secret-4f9aQ7"))])
    assert known.may_hold(text)
    assert known.scrub(b"<p>" + text + b"</p>") == b"<p><SECRET></p>"


@pytest.mark.parametrize(("kind", "layout"), [("RSA", "PKCS8"), ("EC", "PKCS8"), ("EC", "TraditionalOpenSSL")])
def test_the_public_half_of_a_key_is_not_secret(kind, layout):
    """Lines of a private key that also occur in the public key are not secret."""
    key = rsa.generate_private_key(65537, 1024) if kind == "RSA" else ec.generate_private_key(ec.SECP521R1())  # noqa: S505 - quick
    private = key.private_bytes(Encoding.PEM, getattr(PrivateFormat, layout), NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    known = KnownSecrets([("PRIVATE_KEY", Secret(private))])
    for shown in (public, json.dumps(public.splitlines()), "".join(public.splitlines())):
        assert known.scrub_text(shown) == shown
    scrubbed = known.scrub_text(json.dumps(private.splitlines()))
    secret = [line for line in private.splitlines()[1:-1] if len(line) >= 32 and line not in "".join(public.split())]
    assert [line for line in secret if line in scrubbed] == []
    assert len(secret) >= 2


def test_a_certificate_beside_a_key_is_not_secret():
    """The lines of a certificate are public."""
    lines = [
        "Q2VydGlmaWNhdGUtbGluZS1vbmUtaXMtcHVibGljLWFuZC1sb25n",
        "b25lLW1vcmUtbGluZS10aGF0LWlzLXB1YmxpYy1hbmQtbG9uZzEy",
    ]
    certificate = "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----"])
    key = f"-----BEGIN PRIVATE KEY-----\n{'A1b2' * 16}\n-----END PRIVATE KEY-----"
    known = KnownSecrets([("PRIVATE_KEY", Secret(f"{certificate}\n{key}"))])
    assert known.scrub_text(json.dumps(lines)) == json.dumps(lines)


@pytest.fixture
def registry():
    return SessionSecrets()


def made_up():
    return secrets.token_urlsafe(24)


def test_each_session_has_its_own_placeholders(registry):
    """A secret gets the placeholder of the first session that knows it."""
    one, other, both = made_up(), made_up(), made_up()
    sessions = [known(both, one), known(other, both)]
    for session in sessions:
        registry.add(session)
    assert registry.scrub_text(f"{one} {other} {both}") == "<ACCESS_TOKEN-2> <ACCESS_TOKEN> <ACCESS_TOKEN>"
    assert registry.scrub(f"{one} {other}".encode()) == b"<ACCESS_TOKEN-2> <ACCESS_TOKEN>"


def test_what_becomes_known_later(registry):
    """Later secrets are replaced too, including those of a session older than one that ended."""
    first, ended = known(made_up()), known(made_up())
    registry.add(first)
    registry.add(ended)
    del ended
    gc.collect()
    second = known(made_up())
    registry.add(second)
    for session in (first, second):
        later = made_up()
        session.add("ACCESS_TOKEN", Secret(later))
        assert registry.scrub_text(later) == "<ACCESS_TOKEN-2>"


def test_what_ended_is_forgotten(registry):
    """The secrets of a session are forgotten at the latest when the next session begins; others stay."""
    gone, stays = made_up(), made_up()
    ended, living = known(gone), known(stays)
    registry.add(ended)
    registry.add(living)
    held = Secret(gone)
    del ended
    gc.collect()
    registry.add(known())
    assert registry.scrub_text(f"{gone} {stays}") == f"{gone} <ACCESS_TOKEN>"
    assert registry._all.placeholder_of(held) is None
    assert registry._all.placeholder_of(Secret(stays)) is not None


def test_text_that_is_not_unicode(registry):
    """Lone surrogates pass as they are, with and without a secret beside them."""
    secret = made_up()
    session = known(secret)
    registry.add(session)
    assert registry.scrub_text("\udc80 plain") == "\udc80 plain"
    assert registry.scrub_text(f"\udc80 {secret}") == "\udc80 <ACCESS_TOKEN>"
