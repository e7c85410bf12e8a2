"""The register of secrets grows, never shrinks, and tells its readers."""

from __future__ import annotations

import threading

import pytest

from toolkit.core.secret import Register, Secret


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
    assert repr(register) == "<Register: 3 secrets>"


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


def test_threads_add_at_once():
    """What several threads add is there once."""
    register = Register()
    threads = [
        threading.Thread(target=register.add_all, args=([("SECRET", fake(number)) for number in range(500)],))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert register.since(0) == [("SECRET", fake(number)) for number in range(500)]
