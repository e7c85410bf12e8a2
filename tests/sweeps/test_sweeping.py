"""Sweeps as users run them, against a service within the process."""

from __future__ import annotations

import asyncio
import threading
import warnings
from contextlib import nullcontext

import canaries
import httpx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import toolkit as tk
from toolkit.core.ledger import SystemClock
from toolkit.sweeps import running, sweeping
from toolkit.transport.network import LANE

KEYS = [f"acc-{number}" for number in range(40)]


def path_of(key):
    return f"/v1/accounts/{key}/positions"


def positions(request):
    """Answer with as many positions as the last digit of the account says."""
    account = request.url.path.split("/")[3]
    number = int(account.split("-")[1])
    return [{"symbol": f"S{row}", "qty": str(number + row), "price": 1.5} for row in range(number % 3)]


@pytest.fixture
def answering(service):
    """Return the service with positions of every account."""
    service.answer = lambda request: service.reply(positions(request))
    return service


class WithoutPauses(SystemClock):
    """The machine's clock, for which a pause before another try is over at once."""

    def sleep(self, seconds):
        pass


@pytest.fixture
def session(answering, settings, make_credentials):
    """Return a session with the service."""
    return tk.Session(
        credentials=make_credentials("broker-sandbox"), settings=settings, transport=answering, clock=WithoutPauses()
    )


@pytest.fixture
def async_session(answering, settings, make_credentials):
    """Return an asynchronous session with the service."""
    return tk.AsyncSession(credentials=make_credentials("broker-sandbox"), settings=settings, transport=answering)


def expected(keys=KEYS):
    """Return (key, symbol) of all rows, in the order of the keys."""
    return [(key, f"S{row}") for key in keys for row in range(int(key.split("-")[1]) % 3)]


def rows_of(table):
    """Return (key, symbol) of each row."""
    return list(zip(table["key"], table["symbol"], strict=True))


def test_a_sweep_asks_once_for_each_key_and_its_table_has_all_rows(session, answering, tmp_path):
    """Rows come in the order of the keys, each beside its key, whatever the order of the answers."""
    result = tk.sweep(session.broker, KEYS, path_of, into=tmp_path / "positions")
    assert sorted(request.url.path for request in answering.calls) == sorted(map(path_of, KEYS))
    table = result.table()
    assert rows_of(table) == expected()
    assert table.columns.tolist() == ["key", "symbol", "qty", "price"]
    assert table["qty"].dtype == "Int64"
    assert len(result.failures()) == 0
    assert (result.answered, result.failed, result.rows) == (40, 0, len(table))


async def run(session, into, keys=KEYS, call=path_of, **options):
    """Sweep with an asynchronous session."""
    return await tk.sweep(session.broker, keys, call, into=into, **options)


def test_failures_that_may_pass_are_asked_again_and_final_ones_by_retry(session, answering, tmp_path, monkeypatch):
    """404 is an answer and stays; 503 and a lost connection are asked for by the next run. Progress counts both."""
    statuses, shown, moved = {"acc-1": 404, "acc-2": 503, "acc-3": 200}, [], threading.Event()
    show = lambda *counts: shown.append(counts) or moved.set()
    monkeypatch.setattr(sweeping, "progress_bar", lambda *_: nullcontext(show))

    def answer(request):
        account = request.url.path.split("/")[3]
        assert account != "acc-5" or moved.wait(10)  # progress is shown while keys are requested
        if account == "acc-4":
            raise httpx.ConnectError("no route", request=request)
        status = statuses.get(account, 200)
        return answering.reply(positions(request) if status == 200 else {"message": "no such account"}, status)

    answering.answer = answer
    into = tmp_path / "positions"
    result = tk.sweep(session.broker, KEYS[:6], path_of, into=into)
    failures = result.failures()
    assert shown[-1] == (6, "3 failed")
    assert failures["key"].tolist() == ["acc-1", "acc-2", "acc-4"]
    assert failures["status"].tolist() == [404, 503, pd.NA]
    assert failures["tries"].tolist() == [1, 4, 4]
    assert failures["reason"].tolist() == [
        "Not Found: no such account",
        "Service Unavailable: no such account",
        "no answer: ConnectError",
    ]
    answering.requests.clear()
    result = tk.sweep(session.broker, KEYS[:6], path_of, into=into)
    assert {request.url.path for request in answering.calls} == {path_of("acc-2"), path_of("acc-4")}
    answering.answer = lambda request: answering.reply(positions(request))
    result = result.retry()
    assert len(result.failures()) == len(pd.read_parquet(tmp_path / "positions.sweep/failures.parquet")) == 0
    assert rows_of(result.table()) == expected(KEYS[:6])


def test_a_sweep_of_other_answers_does_not_mix(session, settings, make_credentials, answering, tmp_path):
    """The error names the argument that differs, nothing is asked, and the folder stays as it is."""
    into = tmp_path / "positions"
    tk.sweep(session.broker, KEYS[:3], path_of, into=into)
    asked = len(answering.requests)
    schema = tk.schema(tk.tabulate([{"symbol": "S0"}]))
    for about, options in {
        "records": {"records": "positions"},
        "numbers": {"numbers": "decimal"},
        "schema": {"schema": schema},
        "pages": {"pages": False},
    }.items():
        with pytest.raises(tk.ConfigurationError, match="a different sweep") as caught:
            tk.sweep(session.broker, KEYS, path_of, into=into, **options)
        assert caught.value.about == about
    other = tk.Session(credentials=make_credentials("broker-live"), settings=settings, transport=answering)
    with pytest.raises(tk.ConfigurationError) as caught:
        tk.sweep(other.broker, KEYS, path_of, into=into)
    assert caught.value.about == "origin"
    assert len(answering.requests) == asked
    assert tk.sweep(session.broker, KEYS[:3], path_of, into=into).rows == 3


def test_files_of_others_are_not_touched(session, tmp_path):
    """A folder with other files is refused, also with resume=False, and stays as it is."""
    into = tmp_path / "positions"
    tk.sweep(session.broker, KEYS[:3], path_of, into=into)
    foreign = into / "notes.parquet"
    earlier = pa.table({"key": ["a"]}).replace_schema_metadata({"toolkit.sweep": '{"version": 1, "kind": "text"}'})
    for write, reason in (
        (pd.DataFrame({"a": [1]}).to_parquet, "from another program"),
        (lambda file: pa.parquet.write_table(earlier, file), "from another program or version"),
        (lambda file: file.write_bytes(b"PAR1"), "incomplete"),
    ):
        write(foreign)
        for resume in (True, False):
            with pytest.raises(tk.ConfigurationError, match=rf"notes\.parquet is .*{reason}"):
                tk.sweep(session.broker, KEYS, path_of, into=into, resume=resume)
    assert foreign.read_bytes() == b"PAR1"
    assert len(list(into.glob("part-*"))) == 1


def test_resume_false_begins_anew(session, answering, tmp_path):
    """All keys are asked again, and only their rows are there, also with other arguments."""
    into = tmp_path / "positions"
    tk.sweep(session.broker, KEYS, path_of, into=into)
    answering.requests.clear()
    result = tk.sweep(session.broker, KEYS[:5], path_of, into=into, numbers="text", resume=False)
    assert len(answering.calls) == 5
    assert rows_of(result.table()) == expected(KEYS[:5])


def test_a_second_sweep_into_a_folder_is_told(session, tmp_path):
    """While a sweep runs, another one into its folder raises at once and names the process."""
    errors = []

    def call(key):
        if not errors:
            try:
                tk.sweep(session.broker, KEYS, path_of, into=tmp_path / "positions")
            except tk.SweepBusy as error:
                errors.append(error)
        return path_of(key)

    assert tk.sweep(session.broker, KEYS[:3], call, into=tmp_path / "positions").answered == 3
    assert "in another thread of this one" in errors[0].what


def test_a_key_may_stand_for_parameters_or_a_request(session, answering, tmp_path):
    """`call` gives a path with parameters, or a request of httpx; HEAD finishes a key without rows."""

    def call(key):
        if key == 1:
            return "//v1/quotes", {"symbol": "A"}  # httpx drops what it takes for a host
        path = f"/v1/accounts/acc-{key}/positions"
        if key == 2:
            return httpx.Request("HEAD", path, headers={"X-Own": "yes"})
        return session.broker.build_request("GET", path, params={"page_size": 2})

    answering.answer = lambda request: answering.reply([{"url": str(request.url)}])
    result = tk.sweep(session.broker, [1, 2, 3], call, into=tmp_path / "mixed", at_once=1)
    first, second, third = answering.calls
    assert first.url.raw_path == b"/quotes?symbol=A"
    assert (second.method, second.headers["x-own"]) == ("HEAD", "yes")
    assert third.url.query == b"page_size=2"
    assert result.table()["key"].tolist() == [1, 3]
    assert result.answered == 3


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_keys_that_are_close_to_each_other(zone, session, answering, tmp_path):
    """Instants a nanosecond apart, and numbers of one hash, are keys of their own, also in later runs."""
    answering.answer = lambda request: answering.reply([{"n": 1}])
    first = pd.Timestamp("2026-01-01T00:00:00.000000001", tz=zone)
    asked = []
    for keys in ([first, first + pd.Timedelta(1, "ns"), pd.Timestamp("2026-01-05", tz=zone)], [-1, -2]):
        asked.clear()
        for count in range(1, len(keys) + 1):
            into = tmp_path / str(len(keys))
            result = tk.sweep(session.broker, keys[:count], lambda key: f"/v1/{asked.append(key)}", into=into)
        assert asked == result.table()["key"].tolist() == keys


@pytest.mark.parametrize(
    ("call", "about"),
    [
        (lambda key: httpx.Request("POST", "https://x.example"), "POST"),
        (asyncio.sleep, "returned coroutine, not a path"),
        (lambda key: None, "returned NoneType, not a path"),
        (lambda key: ("/v1", 5), r"returned \(str, int\), not a path, \(path, params\) or an httpx.Request"),
        ("/v1/accounts", "a function"),
    ],
)
def test_what_is_not_a_request_is_refused(call, about, session, answering, tmp_path):
    """Nothing is sent that may change something, or that is no request."""
    with pytest.raises(tk.ConfigurationError, match=about) as caught:
        tk.sweep(session.broker, KEYS, call, into=tmp_path / "positions")
    assert caught.value.about == "call"
    assert answering.requests == []


def test_keys_are_taken_when_they_are_needed(session, answering, tmp_path, monkeypatch):
    """Keys may come from a generator; no more of them, and of large answers, are in memory than are in flight."""
    monkeypatch.setattr(running, "_BATCH_BYTES", 1)
    monkeypatch.setattr(running, "_PART_KEYS", 1)
    taken = []

    def keys():
        for number in range(50):
            taken.append(number)
            yield f"acc-{number // 2}"
            assert number // 2 - len(answering.calls) < 4

    result = tk.sweep(session.broker, keys(), path_of, into=tmp_path / "positions", at_once=4)
    assert len(taken) == 50
    assert len(answering.calls) == 25
    assert result.answered == len(list((tmp_path / "positions").iterdir())) == 25
    lanes = {request.extensions[LANE] for request in answering.calls}  # each thread has connections of its own
    assert lanes <= set(range(4))


def test_no_secret_reaches_the_folder(settings, make_credentials, service, tmp_path):
    """Rows and reasons have placeholders, as in a replay: for known secrets, and under the names of credentials."""
    credentials = make_credentials("broker-sandbox")
    [text], other = canaries.secrets_of(credentials), canaries.new()

    def answer(request):
        rows = [{text: request.headers["Authorization"], "secret": text, "api_key": other, "qty": "1"}]
        return service.reply(rows if request.url.path.endswith("2/positions") else {"rows": 5, "list": rows, text: []})

    service.answer = answer
    session = tk.Session(credentials=credentials, settings=settings, transport=service)
    result = tk.sweep(session.broker, ["acc-1", "acc-2"], path_of, into=tmp_path / "x", records="rows")
    result.retry()
    result = tk.sweep(session.broker, ["acc-2"], path_of, into=tmp_path / "y")
    assert result.table().loc[0].tolist() == ["acc-2", "Bearer <ACCESS_TOKEN>", "<CLIENT_SECRET>", "<API_KEY>", 1]
    seen = [str(pa.parquet.read_table(file).to_pylist()) for file in tmp_path.rglob("*.parquet")]
    assert len(seen) >= 2
    canaries.assert_absent("".join(seen).encode(), [text, other, *service.issued])


def test_answers_that_are_no_rows_are_failures_of_their_keys(session, answering, tmp_path):
    """An answer that is not JSON, or has no list where records are, fails its key and nothing else."""
    bodies = {"a": b"<html>", "b": b"", "c": {"other": 1}, "d": {"positions": [{"qty": 1}]}}
    answering.answer = lambda request: answering.reply(bodies[request.url.path[-1]])
    result = tk.sweep(session.broker, bodies, lambda key: f"/v1/{key}", into=tmp_path / "p", records="positions")
    assert result.table().to_dict("list") == {"key": ["d"], "qty": [1]}
    failures = result.failures()
    assert failures["key"].tolist() == ["a", "c"]
    assert failures["status"].tolist() == [200, 200]
    assert "is not JSON" in failures["reason"][0]
    assert result.answered == 2


def test_types_are_widened_where_later_answers_need_it(session, answering, tmp_path, monkeypatch):
    """An integer column becomes float or text, in parts that are there already, without losing a digit."""
    into = tmp_path / "positions"
    monkeypatch.setattr(running, "_PART_ROWS", 1)
    answers = {"a": [{"n": 1, "m": 2**60 + 1}], "b": [{"n": 1.5, "m": 0.5}], "c": [{"n": 2, "t": "x"}]}
    answering.answer = lambda request: answering.reply(answers[request.url.path[-1]])
    for keys in ("a", "ab", "abc"):
        result = tk.sweep(session.broker, list(keys), lambda key: f"/v1/{key}", into=into)
    expected = {
        "key": ["a", "b", "c"],
        "n": [1.0, 1.5, 2.0],
        "m": [str(2**60 + 1), "0.5", None],
        "t": [None, None, "x"],
    }
    assert result.table().convert_dtypes().to_dict("list") == pd.DataFrame(expected).convert_dtypes().to_dict("list")
    assert len(list(into.iterdir())) == 3
    pd.testing.assert_frame_equal(pd.read_parquet(into), result.table())


def test_types_that_parquet_does_not_have_stay_the_same(session, answering, tmp_path):
    """A sweep that goes on with a part has the nearest type of Parquet in all rows, rather than text."""
    schema = pa.schema([("a", pa.date64()), ("b", pa.timestamp("s")), ("c", pa.string_view())])
    answering.answer = lambda request: answering.reply([{"a": "2024-01-01", "b": "2024-01-01", "c": "x"}])
    for count in (1, 2, 3):
        table = tk.sweep(session.broker, range(count), path_of, into=tmp_path / "a", schema=schema).table()
    assert list(map(str, table.dtypes.iloc[1:])) == ["date32[day][pyarrow]", "datetime64[ms]", "str"]
    assert len(table) == 3


def test_a_schema_gives_exactly_its_types(session, answering, tmp_path):
    """A value that does not fit fails its key; columns without values are there."""
    schema = tk.schema(tk.tabulate([{"qty": 1.5, "symbol": "A", "note": "n"}]))
    answers = {"a": [{"qty": 1, "symbol": "A"}], "b": [{"qty": "many", "symbol": "B"}], "c": []}
    answering.answer = lambda request: answering.reply(answers[request.url.path[-1]])
    result = tk.sweep(session.broker, answers, lambda key: f"/v1/{key}", into=tmp_path / "positions", schema=schema)
    table = result.table()
    assert table.dtypes.astype(str).to_dict() == {"key": "str", "qty": "float64", "symbol": "str", "note": "str"}
    assert table["key"].tolist() == ["a"]
    assert result.failures()["key"].tolist() == ["b"]
    assert "many" in result.failures()["reason"][0] or "qty" in result.failures()["reason"][0]


@pytest.mark.parametrize("own", [{}, {"key": "K"}])
def test_a_schema_may_be_that_of_an_earlier_sweep(own, session, answering, tmp_path):
    """Its column of keys is ours again, whether the answers have a `key` of their own or not."""
    answering.answer = lambda request: answering.reply([own | {"n": 1}] * int(request.url.path[-1]))
    earlier = tk.sweep(session.broker, range(3), lambda key: f"/v1/{key}", into=tmp_path / "a").table()
    options = {"into": tmp_path / "b", "schema": tk.schema(earlier)}
    later = tk.sweep(session.broker, range(3), lambda key: f"/v1/{key}", **options).table()
    pd.testing.assert_frame_equal(later, earlier)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_keeps_what_was_answered(is_async, async_session, session, answering, tmp_path):
    """What was answered before Ctrl-C is written, and not asked for again."""
    into = tmp_path / "positions"

    def call(key):
        if key == "acc-20" and len(answering.calls) == 20:
            raise KeyboardInterrupt
        return path_of(key)

    options = {"into": into, "call": call, "at_once": 1}
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run(async_session, **options)) if is_async else tk.sweep(session.broker, KEYS, **options)
    answering.requests.clear()
    result = tk.sweep(session.broker, KEYS, path_of, into=into)
    assert len(answering.calls) == 20
    assert rows_of(result.table()) == expected()


def test_real_accounts_are_announced_once(settings, make_credentials, answering, tmp_path):
    """A folder that receives data from a real account says so when it is new."""
    session = tk.Session(credentials=make_credentials("broker-live"), settings=settings, transport=answering)
    with pytest.warns(UserWarning, match="data from a real account"):
        result = tk.sweep(session.broker, KEYS[:3], path_of, into=tmp_path / "positions")
    assert "real account" in repr(result)
    assert "real account" in result._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tk.sweep(session.broker, KEYS[:6], path_of, into=tmp_path / "positions")


def test_a_replay_gives_the_same_table_without_a_network(settings, make_credentials, answering, tmp_path):
    """Table, failures and display equal those of the recording, whatever the order of the answers was.

    No cluster is needed: `cluster` is not looked at.
    """
    answering.answer = lambda request: answering.reply(positions(request), 404 if "acc-7" in str(request.url) else 200)
    shown = []
    for credentials, mode in ((make_credentials("broker-sandbox"), "once"), (None, "none")):
        with tk.Session(
            credentials=credentials, cassette="sweep", mode=mode, settings=settings, transport=answering
        ) as it:
            cluster = None if credentials else "no cluster"
            result = tk.sweep(it.broker, reversed(KEYS), path_of, into=tmp_path / mode / "positions", cluster=cluster)
            shown.append((result.table(), result.failures(), repr(result).replace(mode, "")))
    pd.testing.assert_frame_equal(shown[0][0], shown[1][0])
    pd.testing.assert_frame_equal(shown[0][1], shown[1][1])
    counts, sources = zip(*(text.split("; ") for _, _, text in shown), strict=True)
    assert counts[0] == counts[1]
    assert sources[0] == "live calls, recorded>"
    assert sources[1].startswith("replayed, recorded ")
    assert shown[1][0].attrs["source"] == f"broker-sandbox · {sources[1].removesuffix('>')}"
    with tk.Session(cassette="sweep", mode="none", settings=settings) as it:  # goes on in the folder of the recording
        result = tk.sweep(it.broker, reversed(KEYS), path_of, into=tmp_path / "once" / "positions")
    pd.testing.assert_frame_equal(result.table(), shown[0][0])


def test_pages_of_a_key_are_read_and_stand_together(session, answering, tmp_path):
    """All pages of a key or none become rows; what is not read is told."""

    def answer(request):
        page = int(request.url.params.get("page", 1))
        key = request.url.path[-1]
        if (key, page) == ("b", 3):
            return answering.reply({}, 404)
        headers = {"Link": f'<{request.url.path}?page={page + 1}>; rel="next"'} if page < 3 else {}
        return answering.reply([{"page": page}], headers=headers)

    answering.answer = answer
    result = tk.sweep(session.broker, ["a", "b", "c"], lambda key: f"/v1/{key}", into=tmp_path / "pages")
    assert result.table().to_dict("list") == {"key": list("aaaccc"), "page": [1, 2, 3] * 2}
    assert result.failures()["reason"].tolist() == ["page 3: Not Found"]
    with pytest.warns(UserWarning, match="Leave out pages=False"):
        tk.sweep(session.broker, ["a"], lambda key: f"/v1/{key}", into=tmp_path / "first", pages=False)
    answering.answer = lambda request: answering.reply({"data": [{"n": 1}], "cursor": "x"})
    with pytest.warns(UserWarning, match="cursor="):
        tk.sweep(session.broker, ["a"], lambda key: f"/v1/{key}", into=tmp_path / "cursor")


def test_a_service_that_is_down_stops_the_sweep(session, answering, tmp_path):
    """Nobody wants to wait for a hundred thousand keys that get no answer; the next run asks for all of them."""
    session = tk.Session(credentials=session.credentials, settings=session.settings, transport=answering, retry=False)
    outcomes = [(503, tk.ServiceError), (401, tk.ServiceError), (None, tk.Unreachable)]
    for status, error in outcomes:

        def answer(request, status=status):
            if status is None:
                raise httpx.ConnectError("no route", request=request)
            return answering.reply({}, status)

        answering.requests.clear()
        answering.answer = answer
        with pytest.raises(error, match="The last 32 keys all failed"):
            tk.sweep(session.broker, range(100), path_of, into=tmp_path / f"{status}", at_once=1)
        assert 32 <= len(answering.calls) <= 33  # after the first 401 the token is renewed
    answering.answer = lambda request: answering.reply([{"n": 1}])
    assert tk.sweep(session.broker, range(100), path_of, into=tmp_path / "503").answered == 100


@pytest.mark.parametrize("is_async", [False, True])
def test_keys_that_all_fail_are_told_once(is_async, async_session, session, answering, tmp_path):
    """A wrong path is a warning at the user's line, and not an error: it may be what the user looks for."""
    answering.answer = lambda request: answering.reply({"message": "There is no such path."}, 404)
    into = tmp_path / "positions"
    in_tasks = (lambda: asyncio.run(run(async_session, into, range(250)))) if is_async else None
    sweep = in_tasks or (lambda: tk.sweep(session.broker, range(250), path_of, into=into))
    with pytest.warns(UserWarning, match=r"100 keys all failed: Not Found: There is no such path\. If") as caught:
        result = sweep()
    assert [warning.filename for warning in caught] == [__file__]
    assert result.failed == 250


def test_a_sweep_says_what_it_did_not_request(session, answering, tmp_path):
    """Someone who corrects a wrong path and runs the sweep again learns why nothing changed."""
    answering.answer = lambda request: answering.reply({}, 404)
    into = tmp_path / "positions"
    assert "earlier" not in repr(tk.sweep(session.broker, KEYS[:3], path_of, into=into))
    answering.answer = lambda request: answering.reply(positions(request))
    answering.requests.clear()
    with pytest.warns(UserWarning, match="3 keys failed in an earlier run, so nothing was requested"):
        result = tk.sweep(session.broker, KEYS[:3], path_of, into=into)
    assert not answering.calls
    assert "3 failed (404: 3); 3 keys finished by earlier runs;" in repr(result)
    assert "3 keys, not requested again" in result._repr_html_()
    assert "earlier" not in repr(result.retry())
    assert tk.sweep(session.broker, KEYS[:4], path_of, into=into).earlier == 3


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("keys", None, tk.ConfigurationError),
        ("keys", "acc-1", tk.ConfigurationError),
        ("keys", pd.DataFrame({"id": KEYS}), tk.ConfigurationError),
        ("at_once", 0, tk.ConfigurationError),
        ("numbers", "int", tk.ConfigurationError),
        ("cursor", "next", tk.ConfigurationError),
        ("records", 5, tk.ConfigurationError),
        ("key", 5, tk.ConfigurationError),
        ("schema", 5, tk.TabulationError),
        ("schema", pa.schema([("a", pa.month_day_nano_interval())]), tk.ConfigurationError),
    ],
)
def test_arguments(session, answering, tmp_path, name, value, error):
    """A wrong argument is refused before anything is sent or written, and the error says which."""
    arguments = {"keys": KEYS, "into": tmp_path / "positions"} | {name: value}
    with pytest.raises(error) as caught:
        tk.sweep(session.broker, arguments.pop("keys"), path_of, **arguments)
    assert caught.value.about == name
    assert answering.requests == []
    assert list(tmp_path.iterdir()) == []


def test_other_names_beside_the_keys(session, answering, tmp_path):
    """The table can show account numbers beside the keys, if these are ids."""
    answering.answer = lambda request: answering.reply([{"symbol": "ALFA"}] * 2)
    accounts = pd.DataFrame({"id": ["a", "b"], "account_number": ["01", "02"], "cash": [1.0, 2.0]})
    result = tk.sweep(session.broker, accounts["id"], lambda key: f"/v1/{key}", into=tmp_path / "rows")
    table = result.table(accounts)
    assert list(table.columns) == ["key", "account_number", "symbol"]
    assert table["account_number"].tolist() == ["01", "01", "02", "02"]
    with pytest.raises(tk.ConfigurationError, match="No column of the table in names= has every key"):
        result.table(accounts[:1])
