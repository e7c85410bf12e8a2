from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import sys
import threading
import traceback
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.lib.pretty import pretty

from toolkit.core.secret import HELD, Register, Secret

# Text that does not occur in a message, name or mask by chance.
CANARIES = st.text("QXZ0123456789", min_size=12)


@dataclasses.dataclass
class Holder:
    secret: Secret


RENDERINGS = {
    "str": str,
    "repr": repr,
    "f-string": lambda secret: f"{secret} {secret!r} {secret!s:>40} {secret:^40}",
    "percent": lambda secret: "%s %r %.3s" % (secret, secret, secret),  # noqa: UP031 - tested on purpose
    "str.format": "{0} {0!r} {0:>40}".format,
    "mapping": lambda secret: repr({secret: secret}),
    "dataclass": lambda secret: repr(Holder(secret)),
    "asdict": lambda secret: repr(dataclasses.asdict(Holder(secret))),
    "IPython": pretty,
    "json default": lambda secret: json.dumps({"key": secret}, default=str),
    "log record": lambda secret: logging.makeLogRecord({"msg": "key %s", "args": (secret,)}).getMessage(),
    "exception": lambda secret: repr(ValueError(secret)) + str(KeyError(secret)),
    "copy": lambda secret: repr(copy.deepcopy([copy.copy(secret)])),
}


@pytest.mark.parametrize("way", RENDERINGS)
@given(text=CANARIES)
def test_masked(way, text):
    """However Python prints a secret, it prints the mask and not the text."""
    shown = RENDERINGS[way](Secret(text))
    assert text not in shown
    assert "***" in shown


REFUSALS = {
    "json": json.dumps,
    "json in a list": lambda secret: json.dumps([secret]),
    **{f"pickle {protocol}": lambda secret, p=protocol: pickle.dumps(secret, p) for protocol in range(6)},
    "reduce": lambda secret: secret.__reduce__(),
    "getstate": lambda secret: secret.__getstate__(),
    "vars": vars,
    "concatenation": lambda secret: "Bearer " + secret,
    "join": lambda secret: " ".join(["Bearer", secret]),  # noqa: FLY002 - tested on purpose
    "length": len,
    "iteration": list,
    "bytes": bytes,
    "order": lambda secret: secret < Secret(""),
}


@pytest.mark.parametrize("way", REFUSALS)
@given(text=CANARIES)
def test_refused(way, text):
    """Operations that would use the text are refused, and the error does not show the text."""
    with pytest.raises(TypeError) as caught:
        REFUSALS[way](Secret(text))
    assert text not in "".join(traceback.format_exception(caught.value))


@given(st.text())
def test_reveal(text):
    """reveal() returns the text, also of a secret made from a secret."""
    assert Secret(text).reveal() == Secret(Secret(text)).reveal() == text


@given(st.text(st.characters(), max_size=3), st.text(st.characters(), max_size=3))
def test_equality(first, second):
    """Secrets are equal if and only if their texts are; equal secrets have equal hashes."""
    assert (Secret(first) == Secret(second)) == (first == second)
    assert Secret(first) == Secret(first)
    assert hash(Secret(first)) == hash(Secret(first))
    assert len({Secret(first), Secret(second)}) == len({first, second})


@pytest.mark.parametrize("value", [None, 12345678, b"QXZ012345678", ["QXZ012345678"]])
def test_only_text(value):
    """Only text can be a secret; the error names the type and not the value."""
    with pytest.raises(TypeError, match=f"not {type(value).__name__}$"):
        Secret(value)


def fake(number):
    return Secret(f"fake-secret-{number}")


def test_each_secret_once_in_order():
    """A secret keeps its first kind and its place; an empty one is ignored."""
    register = Register()
    register.add_all([("API_KEY", fake(1)), ("SECRET", Secret("")), ("PASSWORD", fake(2)), ("SECRET", fake(1))])
    register.add("TOKEN", fake(3))
    assert register.since(0) == [("API_KEY", fake(1)), ("PASSWORD", fake(2)), ("TOKEN", fake(3))]
    assert register.since(2) == [("TOKEN", fake(3))]
    assert register.since(3) == []
    assert [register.kind_of(fake(number)) for number in (1, 2, 4)] == ["API_KEY", "PASSWORD", None]
    assert len(register) == 3
    assert fake(3) in register
    assert fake(4) not in register


@pytest.mark.parametrize("has_one", [False, True])
def test_something_to_do_with_the_first_secret(has_one):
    """A function is called with the first secret, at once if there is one, and not again."""
    register, calls = Register(), []
    if has_one:
        register.add("SECRET", fake(1))
    register.with_first(lambda: calls.append(len(register)))
    assert calls == [1] * has_one
    register.add("SECRET", fake(2))
    register.add("SECRET", fake(3))
    assert calls == [1]


def test_threads_share_a_register(request):
    """Each secret is there once, whoever adds it, and nobody who reads on from a count misses one."""
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # threads take turns far more often than usual
    register, readings = Register(), [[] for _ in range(4)]

    def add():
        for number in range(2_000):
            register.add("SECRET", fake(number))

    def read(seen):
        while len(seen) < 2_000:
            seen.extend(register.since(len(seen)))

    threads = [threading.Thread(target=read, args=[seen]) for seen in readings]
    threads += [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert readings == [register.since(0)] * 4
    assert set(readings[0]) == {("SECRET", fake(number)) for number in range(2_000)}


def test_held_secrets_are_those_of_the_user():
    """A secret that the user holds is remembered as held."""
    held = Secret("kanari-5f1d-held")
    assert held in HELD
