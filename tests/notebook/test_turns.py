"""JupyterLab has a kernel handle some messages of a page in a thread of their own; the panel takes them in turn."""

from __future__ import annotations

import threading

from toolkit.auth import destinations
from toolkit.auth.destinations import destinations_of, note_destinations
from toolkit.core.document import CredentialKind, Environment
from toolkit.local.settings import Settings
from toolkit.notebook.panel.turns import Turns

PATIENCE = 10  # seconds


def in_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_turns():
    """One thread waits for another, what can wait is left out, and a turn within a turn is taken."""
    turns, begun, may_end, done = Turns(), threading.Event(), threading.Event(), []

    def act():
        turns.if_free(lambda: done.append("within"))
        begun.set()
        assert may_end.wait(PATIENCE)
        done.append("first")

    first = in_thread(turns.waiting(act))
    assert begun.wait(PATIENCE)
    turns.if_free(lambda: done.append("left out"))
    second = in_thread(turns.waiting(lambda: done.append("second")))
    may_end.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert done == ["within", "first", "second"]
    turns.if_free(lambda: done.append("third"))
    assert done[-1] == "third"


def test_a_press_while_the_page_greets(open_panel, tmp_path, monkeypatch):
    """While one thread looks where texts would go, a press in another asks for none that nobody trusts."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    projects = []
    for host in ("a.example", "evil.example"):
        file = tmp_path / host / "toolkit.toml"
        file.parent.mkdir()
        file.write_text(f'[addresses]\ntrading_paper = "https://{host}"\n')
        projects.append(Settings.load(file, environ={}))
    note_destinations(Environment.PAPER, destinations_of(Environment.PAPER, CredentialKind.KEY_PAIR, projects[0]))
    user = open_panel("paper", settings=projects[1])
    looking, may_look, look = threading.Event(), threading.Event(), destinations.new_in_environment
    asked = []
    monkeypatch.setattr(type(user.controls), "ask", lambda _: asked.append("the page"))

    def slow(*arguments):
        looking.set()
        assert may_look.wait(PATIENCE)
        return look(*arguments)

    monkeypatch.setattr(destinations, "new_in_environment", slow)
    greeting = in_thread(lambda: user.send(user.panel._view, {"type": "hello"}))
    assert looking.wait(PATIENCE)
    pressing = in_thread(user.press)
    pressing.join(0.1)  # it waits for its turn
    may_look.set()
    greeting.join(PATIENCE)
    pressing.join(PATIENCE)
    assert asked == []
    assert "is new" in user.words("connect")
