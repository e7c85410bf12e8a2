"""A worker's share of a sweep, without a cluster: what dead workers leave, and what late ones may not do."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from secrets import token_hex
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

import toolkit as tk
from toolkit.session.sending import transport_of
from toolkit.sweeps.asking import Plan
from toolkit.sweeps.folder import Folder, place_of
from toolkit.sweeps.running import RUN, Spread, ask_share


def path_of(key):
    return f"/v1/accounts/{key}"


@pytest.fixture
def session(service, settings, make_credentials):
    """Return a session whose service answers each key with two rows."""
    service.answer = lambda request: service.reply([{"n": 1, "path": request.url.path}, {"n": 2}])
    return tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings, transport=service)


@pytest.fixture
def begun(session, tmp_path):
    """Return what all tasks of a sweep share, and its place; the sweep is under way."""
    place = place_of(tmp_path / "accounts")
    interface = transport_of(session.broker).scope.interface
    definition = {"numbers": "float", "records": None, "key": None, "pages": True}
    plan = Plan(None, path_of, None, definition, None)
    with place.locked():
        yield Spread(plan, SimpleNamespace(broker=session.broker), interface, place, begin_run(place)), place


def begin_run(place):
    """Begin another run in a place."""
    place.write("beside", RUN, (name := token_hex(4)).encode())
    return name


def opened(begun):
    """Return the folder as it is now."""
    folder = Folder(begun[1], begun[0].plan.definition)
    folder.load()
    return folder


def test_what_a_dead_worker_finished_is_not_asked_again(begun, service):
    """A task that is given to another worker skips the keys in the parts of its earlier attempts."""
    assert ask_share(begun[0], 1, range(20), 4)[:2] == (20, 0)
    assert ask_share(begun[0], 1, range(30), 4)[:2] == (30, 0)
    assert len(service.calls) == 30
    assert sorted(opened(begun).table(())["key"].unique()) == list(range(30))


@pytest.mark.parametrize(("count", "left"), [(20, [20]), (30, [20, 10])])
def test_keys_that_two_workers_finished_are_in_the_table_once(begun, service, count, left):
    """A worker that seemed dead, and the one that got its task, both write: one part per attempt, rows once."""
    for number, keys in ((1, range(20)), (2, range(count))):  # the second attempt did not see the first one's part
        ask_share(begun[0], number, keys, 4)
    twice = [key for key in range(count) for _ in range(2)]
    folder = opened(begun)
    assert list(folder.table(range(count))["key"]) == twice
    folder.repair()
    assert list(opened(begun).table(range(count))["key"]) == twice
    assert ([len(part.keys) for part in opened(begun).parts.values()], len(service.calls)) == (left, 20 + count)


class Cluster:
    """A cluster of two workers, which does a share when its result is asked for."""

    def __init__(self):
        self.waiting, self.most = set(), 0

    def nthreads(self):
        return {"a": 1, "b": 1}

    def submit(self, function, spread, number, *arguments, pure):
        self.waiting.add(number)
        self.most = max(self.most, len(self.waiting))
        return Mock(result=lambda: self.waiting.discard(number) or function(spread, number, *arguments))

    def cancel(self, futures):
        self.cancelled = len(futures)


class Completed(list):
    update = list.extend


def test_each_worker_has_one_share_at_a_time(session, service, monkeypatch, tmp_path):
    """All keys are asked for on the workers, and shares of those keys do not pile up there."""
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(as_completed=Completed))
    monkeypatch.setattr("toolkit.sweeps.lend.Loan", lambda *_: nullcontext(Mock()))
    monkeypatch.setattr("toolkit.sweeps.borrower.LentSession", lambda _: SimpleNamespace(broker=session.broker))
    result = tk.sweep(session.broker, range(100), path_of, into=tmp_path / "all", cluster=(cluster := Cluster()))
    assert (result.answered, len(service.calls), cluster.most, cluster.cancelled) == (100, 100, 2, 0)
    with pytest.raises(tk.ConfigurationError):
        tk.sweep(session.broker, range(100), lambda _: None, into=tmp_path / "other", cluster=cluster)
    assert cluster.cancelled == 1  # the share of the other worker


def test_after_the_end_nobody_writes(begun, service):
    """A worker that was cut off finds out before it writes; later, or in another sweep, it asks nothing either."""
    spread, place = begun

    def answer(_):
        place.remove("beside", RUN)
        return service.reply([{"n": 1}])

    service.answer = answer
    with pytest.raises(tk.SweepError, match="the sweep has ended"):
        ask_share(spread, 1, [1], 1)
    for _ in range(2):
        with pytest.raises(tk.SweepError, match="all workers share"):
            ask_share(spread, 1, [1], 1)
        begin_run(place)
    assert (place.names("parts"), len(service.calls)) == ([], 1)


def test_of_two_failures_of_a_key_the_later_one_counts(begun, service):
    """A key that failed in an earlier run has the failure of the later run, whatever the runs are called."""
    for name, status in (("ff", 404), ("00", 410)):
        spread = replace(begun[0], run=name)
        begun[1].write("beside", RUN, name.encode())
        service.answer = lambda request, status=status: service.reply({}, status)
        assert ask_share(spread, 1, range(3), 1)[:2] == (0, 3)
        assert {failure.status for failure in opened(begun).failures.values()} == {status}
