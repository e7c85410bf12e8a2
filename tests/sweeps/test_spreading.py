"""Sweeps on a cluster, whose workers are threads of this process: what is handed out, and what dead workers leave."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from threading import Event
from types import SimpleNamespace

import httpx
import pytest

import toolkit as tk
from toolkit.sweeps.definition import Definition, facts_of
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.keys import KeySource
from toolkit.sweeps.places import place_of
from toolkit.sweeps.shares import RunPlace, Share, Spread, ask_share, begin_run, end_run
from toolkit.sweeps.spreading import Counts, spread_keys


class Threads:
    """A pool of threads that may call a function again, as Dask does when a worker is gone.

    Attributes:
        shares: the shares that were submitted.
        doubled: numbers of shares that two workers ask for at the same time.
        cancelled: number of futures that were cancelled.
        ended: set when futures are cancelled.
    """

    def __init__(self, workers, doubled=()):
        self._threads = ThreadPoolExecutor(2 * workers)
        self._workers = workers
        self.shares, self.doubled, self.cancelled, self.most = [], doubled, 0, 0
        self.ended = Event()

    def count(self):
        return self._workers

    def submit(self, function, spread, share):
        self.shares.append(share)
        if share.number in self.doubled:
            wait([self._threads.submit(function, spread, share)])
            self._threads.submit(function, spread, share).add_done_callback(lambda _: None)
        return self._threads.submit(function, spread, share)

    def wait(self, futures, seconds):
        self.most = max(self.most, len(futures))
        return wait(futures, seconds, FIRST_COMPLETED).done

    def cancel(self, futures):
        self.cancelled += len(futures)
        self.ended.set()
        wait(futures)


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
    facts, place = facts_of(session.broker), place_of(tmp_path / "accounts")
    release = place.lock()
    definition = Definition(facts.origin, str(facts.environment))
    lent = SimpleNamespace(broker=session.broker)
    yield (
        Spread(lent, facts.interface, path_of, str(tmp_path / "accounts"), definition, None, begin_run(place)),
        place,
    )
    release()


def spread_over(begun, pool, keys, at_once=8, earlier=None):
    """Sweep over keys; return the counts and the folder as it is afterwards."""
    spread, place = begun
    counts = Counts()
    source = KeySource(keys, kind=None, finished=lambda _: False)
    spread_keys(spread, source, pool, at_once=at_once, earlier=earlier or {}, counts=counts, watch=lambda: None)
    folder = Folder(place, spread.definition)
    folder.load()
    return counts, folder


def keys_of(folder):
    """Return the keys of all rows of a folder, in the order of the keys."""
    return list(folder.table({key: key for key in range(10_000)})["key"])


def twice(keys):
    return [key for key in keys for _ in range(2)]


@pytest.mark.parametrize(("keys", "workers"), [(1, 4), (90, 4), (300, 1)])
def test_each_key_goes_to_one_worker(begun, service, keys, workers):
    """All keys are asked for once. Workers have a share each, and together never more keys at once than allowed."""
    pool = Threads(workers)
    counts, folder = spread_over(begun, pool, range(keys))
    assert (counts.answered, counts.failed, counts.sent) == (keys, 0, keys)
    assert keys_of(folder) == twice(range(keys))
    assert len(service.calls) == keys
    assert [key for share in pool.shares for key in share.keys] == list(range(keys))
    assert pool.most <= workers
    assert {share.at_once * workers for share in pool.shares} == {8}


def test_more_workers_than_keys_at_once(begun):
    """With at_once=2, two of many workers have a share."""
    pool = Threads(9)
    spread_over(begun, pool, (key for key in range(500)), at_once=2)
    assert pool.most <= 2
    assert {(share.at_once, len(share.keys)) for share in pool.shares} == {(1, 200), (1, 100)}


def test_what_a_dead_worker_finished_is_not_asked_again(begun, service):
    """A task that is given to another worker skips the keys in the parts of its earlier attempts."""
    pool = Threads(2, doubled={2})
    counts, folder = spread_over(begun, pool, range(60))
    folder.repair()
    assert counts.answered == 60
    assert keys_of(folder) == twice(range(60))
    assert len(service.calls) == 60


def test_keys_that_two_workers_finished_are_in_the_table_once(begun, service):
    """A worker that seemed dead, and the one that got its task, both write: one part per attempt, rows once."""
    spread, place = begun
    share = Share(1, range(20), "integer", 4, [])
    for run_number in (1, 2):  # another number stands for an attempt that did not see the first one's part
        ask_share(spread, Share(run_number, share.keys, share.kind, 4, []))
    folder = Folder(place, spread.definition)
    folder.load()
    assert len(folder.parts) == 2
    assert keys_of(folder) == twice(range(20))
    folder.repair()
    assert len(folder.parts) == 1
    assert keys_of(folder) == twice(range(20))
    assert len(service.calls) == 40


def test_after_the_end_nobody_writes(begun, service):
    """A task that begins or goes on after the sweep has ended, or in another one, asks and writes nothing."""
    spread, place = begun
    late = RunPlace(place, spread.run)
    late.check()
    begin_run(place)
    for end in (lambda: None, lambda: end_run(place)):
        end()
        with pytest.raises(tk.SweepError, match="the sweep has ended"):
            late.write("parts", "part-00001.parquet", b"")
        with pytest.raises(tk.SweepError, match="all workers share"):
            ask_share(spread, Share(1, [1], "integer", 1, []))
    assert (place.names("parts"), service.calls) == ([], [])


def test_tries_of_failures_count_on(begun, service):
    """Failures of earlier runs go along; the file of the worker has the sum, and wins over the older file."""
    service.answer = lambda request: service.reply({}, 404)
    spread, place = begun
    counts, folder = spread_over(begun, Threads(1), range(3))
    assert (counts.answered, counts.failed) == (0, 3)
    folder.repair()
    _, folder = spread_over((spread, place), Threads(1), range(3), earlier=folder.failures)
    assert {failure.tries for failure in folder.failures.values()} == {2}
    folder.repair()
    assert place.names("beside") == ["failures.parquet", "holder", "lock", "run"]


def test_an_error_of_a_worker_ends_the_sweep(begun, service):
    """What would meet every key is raised here, and other tasks are cancelled; what was answered is kept."""

    def answer(request):
        if request.url.path.endswith("/25"):
            raise tk.TokenError("The loan has ended.")
        if request.url.path.endswith("/100"):  # of the other task, which is under way until it is cancelled
            pool.ended.wait(10)
        return service.reply([{"n": 1}])

    service.answer = answer
    pool = Threads(2)
    with pytest.raises(tk.TokenError, match="has ended"):
        spread_over(begun, pool, range(1000), at_once=2)
    spread, place = begun
    folder = Folder(place, spread.definition)
    folder.load()
    assert pool.cancelled == 1
    assert 20 <= folder.answered < 1000
    assert not folder.is_answered(25)


def test_a_sweep_in_replay_needs_no_cluster(settings, session, service, tmp_path):
    """A recorded sweep runs from its cassette, wherever the notebook is: `cluster` is not looked at."""
    path = tmp_path / "sweep.yaml"
    options = {"settings": settings, "cassette": path}
    with tk.Session(credentials=session.credentials, mode="new_episodes", transport=service, **options) as recording:
        tk.sweep(recording.broker, range(3), path_of, into=tmp_path / "a")
    with tk.Session(mode="none", **options) as replay:
        result = tk.sweep(replay.broker, range(3), path_of, into=tmp_path / "b", cluster="no cluster")
    assert list(result.table()["key"]) == [0, 0, 1, 1, 2, 2]


def test_a_session_that_cannot_be_lent_is_refused(session, tmp_path):
    """The reasons are those of `tk.lend`; nothing is asked."""
    with pytest.raises(tk.ConfigurationError, match="transport of its own cannot be lent"):
        tk.sweep(session.broker, range(3), path_of, into=tmp_path / "a", cluster="a cluster")
    with pytest.raises(tk.ConfigurationError, match="client of a session"):
        tk.sweep(httpx.Client(), range(3), path_of, into=tmp_path / "a", cluster="a cluster")
