"""Recordings end without close(): after a cell, a `with`, or the interpreter."""

from __future__ import annotations

import os
import secrets
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from recordings import recorded_bodies

import toolkit as tk
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.recording import finishing
from toolkit.core.errors import CassetteError, SecretLeak
from toolkit.core.register import REGISTER
from toolkit.core.secret import Secret


@pytest.fixture
def path(tmp_path, interaction):
    """Return the path of a cassette with an old recording."""
    path = tmp_path / "tour.yaml"
    path.write_bytes(HEADER + encode(interaction(body=b"old")))
    return path


@pytest.fixture
def at_exit(monkeypatch):
    """Call the functions that would run at interpreter exit, as if nothing else had been recorded."""
    functions = []
    monkeypatch.setattr(finishing, "_parts_by_finish", {})
    monkeypatch.setattr(finishing, "_shells", [])
    monkeypatch.setattr(finishing, "atexit", SimpleNamespace(register=functions.append))
    return lambda: [function() for function in functions]


def record(cassette, path="/"):
    answer = httpx.MockTransport(lambda _: httpx.Response(200, content=b"new"))
    with httpx.Client(transport=cassette.transport(answer)) as client:
        client.get("https://h.example" + path)


def test_with_succeeds(path, at_exit):
    """At the end of a `with` the new recording is in place; later calls are added to it."""
    with tk.Cassette(path, "all") as cassette:
        record(cassette)
        assert recorded_bodies(path) == (["old"], ["new"])
    assert recorded_bodies(path) == (["new"], None)
    record(cassette, "/more")
    at_exit()
    assert recorded_bodies(path) == (["new", "new"], None)


def test_with_fails(path, at_exit):
    """After an exception in a `with` the old recording stays, and the new one is left beside it."""
    with suppress(ValueError), tk.Cassette(path, "all") as cassette:
        record(cassette)
        raise ValueError
    at_exit()
    assert recorded_bodies(path) == (["old"], ["new"])


def test_abandoned_before_the_first_call(path, at_exit):
    """Calls recorded after abandon() do not replace the old recording."""
    cassette = tk.Cassette(path, "all")
    cassette.abandon()
    record(cassette)
    at_exit()
    assert recorded_bodies(path) == (["old"], ["new"])


def test_nothing_recorded(path, at_exit):
    """A recording without calls does not replace the old one."""
    tk.Cassette(path, "all").close()
    at_exit()
    assert recorded_bodies(path) == (["old"], None)


def test_script_fails(path, at_exit, monkeypatch):
    """After a script that ended in an exception the old recording stays."""
    record(tk.Cassette(path, "all"))
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)
    at_exit()
    assert recorded_bodies(path) == (["old"], ["new"])


def test_cells(path, at_exit, monkeypatch):
    """In a notebook, the end of a cell that succeeded finishes a recording; a failed cell does not."""
    registered = {}
    shell = SimpleNamespace(events=SimpleNamespace(register=registered.__setitem__))
    monkeypatch.setattr(finishing, "shell", lambda: shell)
    succeed, fail = SimpleNamespace(success=True), SimpleNamespace(success=False)
    cassette = tk.Cassette(path, "all")
    record(cassette)
    for result in (fail, None):
        registered["post_run_cell"](result)
        assert recorded_bodies(path) == (["old"], ["new"])
    registered["post_run_cell"](succeed)
    assert recorded_bodies(path) == (["new"], None)
    record(cassette, "/more")
    assert len(registered) == 1
    rerun = tk.Cassette(path, "all")  # the cell that opened it runs again
    assert recorded_bodies(path) == (["new", "new"], None)
    record(rerun)
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)  # of any cell that failed
    at_exit()
    assert recorded_bodies(path) == (["new"], None)


def test_all_are_finished(at_exit):
    """An error in one recording is a warning, and the others are finished; cancelled ones are not."""
    calls = []

    def fail(**_):
        raise CassetteError("Cannot move it.")

    def finish(**_):
        calls.append("finish")

    def other(**_):
        calls.append("other")

    for callback in (fail, finish, other):
        finishing.finish_later(Path(callback.__name__), callback)
    finishing.cancel(other)
    finishing.cancel(other)
    with pytest.warns(UserWarning, match="Cannot move it"):
        at_exit()
    assert calls == ["finish"]


def record_echoed_cookie(path, mode, body):
    """Record a cookie in a body, and only then the header that sets it."""
    cookie = secrets.token_urlsafe(24)
    answers = iter(
        [httpx.Response(200, content=body(cookie)), httpx.Response(200, headers={"Set-Cookie": f"s={cookie}"})]
    )
    cassette = tk.Cassette(path, mode)
    with httpx.Client(transport=cassette.transport(httpx.MockTransport(lambda _: next(answers)))) as client:
        client.get("https://h.example/a")
        client.get("https://h.example/b")
    return cassette, cookie


def test_cookie_that_was_echoed_before_it_was_set(tmp_path, at_exit):
    """The end of a cell removes a cookie from what was written before it was known to be one."""
    cassette, cookie = record_echoed_cookie(tmp_path / "tour.yaml", "once", str.encode)
    assert cookie in cassette.path.read_text()
    finishing._after_cell(SimpleNamespace(success=True))
    assert cookie not in cassette.path.read_text()
    assert finishing._parts_by_finish == {}
    assert os.listdir(tmp_path) == ["tour.yaml"]  # noqa: PTH208 - names are enough


@pytest.mark.filterwarnings("ignore:.*is left from an interrupted recording")
def test_failure_removes_late_secrets(path, at_exit, monkeypatch):
    """After an exception, in a `with` or in a script, the part stays beside the old recording without late secrets."""
    part = path.with_name("tour.part.yaml")
    cassette, cookie = record_echoed_cookie(path, "all", str.encode)
    with suppress(ValueError), cassette:
        raise ValueError
    assert recorded_bodies(path)[0] == ["old"]
    assert cookie not in part.read_text()
    _, cookie = record_echoed_cookie(path, "all", str.encode)
    assert cookie in part.read_text()
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)
    at_exit()
    assert recorded_bodies(path)[0] == ["old"]
    assert cookie not in part.read_text()


def test_cookie_of_another_client(tmp_path, at_exit):
    """A cookie that another client of the process gets after the last call is removed at exit."""
    cookie = secrets.token_urlsafe(24)
    cassette = tk.Cassette(tmp_path / "tour.yaml")
    with httpx.Client(
        transport=cassette.transport(httpx.MockTransport(lambda _: httpx.Response(200, text=cookie)))
    ) as client:
        client.get("https://h.example/a")
    REGISTER.add("COOKIE", Secret(cookie))
    at_exit()
    assert cookie not in cassette.path.read_text()


@pytest.mark.filterwarnings("ignore:.*is left from an interrupted recording")
@pytest.mark.parametrize("mode", ["once", "all"])
def test_secret_that_cannot_be_removed(tmp_path, at_exit, mode):
    """close() says so once; it does not keep anybody from opening the cassette again."""
    path = tmp_path / "tour.yaml"
    cassette, _ = record_echoed_cookie(path, mode, lambda cookie: zlib.compress(f"hello {cookie}".encode()))
    with pytest.raises(SecretLeak, match="cannot be removed"):
        cassette.close()
    assert finishing._parts_by_finish == {}
    with pytest.warns(UserWarning, match="could not be cleaned up"):
        tk.Cassette(path, "new_episodes")
    with suppress(SecretLeak):
        cassette.finish()
    assert path.with_name("tour.part.yaml").exists() == (mode == "all")  # it is not moved into place
