"""What is done when a cell, a `with` or the interpreter ends well: the new recording replaces the old one, say."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.recording import finishing
from toolkit.core.errors import CassetteError

PROLOGUE = """
import sys
import httpx
import toolkit as tk

answer = httpx.MockTransport(lambda request: httpx.Response(200, content=b"new"))

def record(cassette, path="/"):
    with httpx.Client(transport=cassette.transport(answer)) as client:
        client.get("https://h.example" + path)

"""


@pytest.fixture
def run(tmp_path, interaction, python):
    """Runs a script beside a cassette; gives what the cassette holds afterwards, and the part if one is left."""
    path, part = tmp_path / "tour.yaml", tmp_path / "tour.part.yaml"
    path.write_bytes(HEADER + encode(interaction(body=b"old")))

    def bodies(file):
        held = contents.read(file.read_bytes(), source="")
        return b" ".join(held.interaction(number).response.body for number in range(len(held))).decode()

    def run(script, status=0):
        told = python("-c", PROLOGUE + script, status=status)
        return bodies(path), bodies(part) if part.exists() else None, told

    return run


def test_interpreter_ends_well(run):
    """At the end of a script the new recording is in place, and not before."""
    script = """
cassette = tk.Cassette("./tour.yaml", "all")
record(cassette)
record(cassette, "/again")
print(b"old" in open("tour.yaml", "rb").read())
sys.exit()
"""
    assert run(script) == ("new new", None, "True\n")


def test_with_ends_well(run):
    """At the end of a `with` the new recording is in place; what comes after is added to it."""
    script = """
with tk.Cassette("./tour.yaml", "all") as cassette:
    record(cassette)
print(b"old" in open("tour.yaml", "rb").read())
record(cassette, "/more")
"""
    assert run(script) == ("new new", None, "False\n")


def test_with_fails(run):
    """After an exception in a `with`, caught or not, the old recording stays and the new one is left beside it."""
    script = """
try:
    with tk.Cassette("./tour.yaml", "all") as cassette:
        record(cassette)
        raise ValueError
except ValueError:
    pass
"""
    assert run(script)[:2] == ("old", "new")


def test_script_fails(run):
    """After a script that died of an exception, the same."""
    script = """
cassette = tk.Cassette("./tour.yaml", "all")
record(cassette)
raise ValueError
"""
    assert run(script, status=1)[:2] == ("old", "new")


def test_killed(run):
    """After a kill, the same: what was recorded until then is whole."""
    script = """
import os
import secrets
cassette = tk.Cassette("./tour.yaml", "all")
record(cassette)
os._exit(9)
"""
    assert run(script, status=9)[:2] == ("old", "new")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is POSIX")
def test_forked_child_ends(run):
    """What a process records anew is for that process to end, not for a child that was forked, lock or no lock."""
    script = """
import os
import secrets
os.environ["XDG_CACHE_HOME"] = "/dev/null/none"
cassette = tk.Cassette("./tour.yaml", "all")
record(cassette)
if os.fork() == 0:
    sys.exit()
print(os.wait()[1], os.path.exists("tour.part.yaml"), flush=True)
record(cassette, "/more")
"""
    assert run(script) == ("new new", None, "0 True\n")


def test_abandoned_before_it_began(run):
    """A recording that was given up is not put in place either when calls are recorded to it afterwards."""
    script = """
cassette = tk.Cassette("./tour.yaml", "all")
cassette.abandon()
record(cassette)
"""
    assert run(script)[:2] == ("old", "new")


def test_nothing_recorded(run):
    """A recording of nothing replaces nothing."""
    assert run('cassette = tk.Cassette("./tour.yaml", "all")')[:2] == ("old", None)


def test_cells(run):
    """In a notebook the end of a cell that ran well counts; a cell that failed waits for one that does not."""
    script = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.user_ns.update(tk=tk, record=record)

def cell(source):
    shell.run_cell(source, silent=False)
    print(open("tour.yaml", "rb").read().count(b"new"))

cell('cassette = tk.Cassette("./tour.yaml", "all"); record(cassette); 1 / 0')
cell("1")
cell('record(cassette, "/more")')
cell('other = tk.Cassette("./tour.yaml", "all"); record(other)')
"""
    held, part, told = run(script)
    assert (held, part) == ("new", None)
    assert [line for line in told.splitlines() if line.isdigit()] == ["0", "1", "2", "1"]


def test_each_is_finished(monkeypatch):
    """One that cannot be finished does not keep the others from it, and is told; what was called off is not."""
    finished = []
    monkeypatch.setattr(finishing, "_waiting", {})
    monkeypatch.setattr(finishing.atexit, "register", finished.append)

    def fail():
        raise CassetteError("Cannot put it there.")

    def finish():
        finished.append("one")

    def other():
        finished.append("other")

    for callback in (fail, finish, other):
        finishing.finish_later(Path(callback.__name__), callback)
    finishing.cancel(other)
    finishing.cancel(other)
    (at_exit,) = finished
    with pytest.warns(UserWarning, match="Cannot put it there"):
        at_exit()
    assert finished == [at_exit, "one"]


def test_a_cookie_that_was_echoed_before_it_was_set(tmp_path):
    """Notebooks never close a cassette: the end of a cell looks for it in what was written before."""
    cookie = secrets.token_urlsafe(24)
    answers = iter(
        [httpx.Response(200, text=f"hello {cookie}"), httpx.Response(200, headers={"Set-Cookie": f"s={cookie}"})]
    )
    cassette = tk.Cassette(tmp_path / "tour.yaml")
    with httpx.Client(transport=cassette.transport(httpx.MockTransport(lambda _: next(answers)))) as client:
        client.get("https://h.example/a")
        assert cookie in cassette.path.read_text()
        client.get("https://h.example/b")
    finishing._after_cell(SimpleNamespace(success=True))
    assert cookie not in cassette.path.read_text()
    assert finishing._waiting == {}
