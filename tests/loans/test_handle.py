"""The handle of a loan: what its pickle holds, and the one session that it opens in a process."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from loan_parts import LOAN

import toolkit as tk
from toolkit.loans import handle
from toolkit.loans.cluster import refuse_open_addresses
from toolkit.loans.handle import LentSession, Terms, forget_lent, note_lent
from toolkit.loans.lend import Loan
from toolkit.loans.lending import lendable

TERMS = Terms(
    loan=LOAN,
    environment="broker-sandbox",
    profile="desk",
    kind="client secret",
    addresses={"broker_sandbox": "https://broker.example.com"},
    header_prefix="SVC",
    options={"timeout": 7.0, "verify": True, "retry": tk.Retry(tries=2)},
    is_async=False,
)


@pytest.fixture(autouse=True)
def no_sessions(monkeypatch):
    """Let the test begin in a process without loans, and online."""
    monkeypatch.setattr(handle, "_SESSIONS", {})
    monkeypatch.setattr(handle, "_LENT_HERE", {})
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)


def test_the_pickle_has_no_secret(make_credentials, settings):
    """A handle goes to the workers in the arguments of tasks, which logs and dashboards show."""
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings)
    lent = LentSession(Loan(lendable(session), None, session=session)._terms())
    again = pickle.loads(pickle.dumps(lent))  # noqa: S301
    assert again._terms == lent._terms
    secret = session.credentials.client_secret.reveal().encode()
    for data in (pickle.dumps(lent), repr(lent).encode(), str(vars(lent)).encode()):
        assert secret not in data


def test_it_works_as_a_session():
    """Environment, interfaces and options are the lender's; there is no auth interface to request tokens from."""
    lent = LentSession(TERMS)
    assert (lent.environment, lent.credentials.name, lent.credentials.secrets()) == ("broker-sandbox", "desk", ())
    assert (str(lent.broker.base_url), lent.broker.timeout.read) == ("https://broker.example.com", 7.0)
    assert (lent.retry, "auth_sandbox" in lent.settings.addresses) == (tk.Retry(tries=2), False)
    assert not hasattr(lent, "trading")
    assert {"broker", "accounts", "calls"} <= set(dir(lent))
    assert isinstance(handle.session_for(TERMS), tk.Session)
    assert isinstance(handle.session_for(TERMS._replace(is_async=True, loan="b")), tk.AsyncSession)


def test_one_session_a_process():
    """Handles of all tasks and threads share the session, so they share its connections and its token."""
    with ThreadPoolExecutor(8) as threads:
        clients = set(threads.map(lambda _: id(LentSession(TERMS).broker), range(50)))
    assert len(clients) == 1


def test_a_worker_remembers_a_few_loans():
    """A worker that lives for weeks does not keep the sessions of all loans."""
    for number in range(100):
        handle.session_for(TERMS._replace(loan=str(number)))
    assert len(handle._SESSIONS) == handle._MOST_SESSIONS


@pytest.mark.parametrize("name", ["__dask_graph__", "_meta", "dask", "npartitions", "nothing"])
def test_other_attributes_open_no_session(name):
    """Dask asks every argument for attributes of its own."""
    assert not hasattr(LentSession(TERMS), name)
    assert handle._SESSIONS == {}


def test_tasks_are_named_by_the_loan():
    """Equal calls with handles of one loan are one task for Dask, whatever object the handle is."""
    assert LentSession(TERMS).__dask_tokenize__() == LentSession(TERMS).__dask_tokenize__()
    assert LentSession(TERMS).__dask_tokenize__() != LentSession(TERMS._replace(loan="b")).__dask_tokenize__()


def test_in_the_lenders_process_it_is_the_session(make_credentials, settings):
    """Workers that are threads of the lender's process use its session, until the loan ends."""
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings)
    note_lent(LOAN, session)
    assert LentSession(TERMS).broker is session.broker
    forget_lent(LOAN)
    assert LentSession(TERMS).broker is not session.broker


def test_the_share_of_a_rate_follows_the_lender():
    """Calls here are paced by what the lender published last."""
    share = handle.RateShare()
    rates = []
    for published in (2.5, 1.0, None, 4.0):
        share.note(published)
        rates.append(share.pace.per_second)
    assert rates == [2.5, 1.0, None, 4.0]


def test_outside_of_a_task_there_is_no_token(monkeypatch):
    """Without Dask, or in a process that is not a worker, a call says what is missing."""
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(tk.ConfigurationError, match="extra dask"):
        LentSession(TERMS).broker.get("/v1/accounts")


def test_lending_needs_the_extra(make_credentials, settings, monkeypatch):
    """Without Dask, the error names the extra, and nothing is sent."""
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings)
    loan = tk.lend(session, None)
    with pytest.raises(tk.ConfigurationError, match="extra dask"), loan:
        pass
    assert "not open" in repr(loan)


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.3:8786", "10.0.0.3:8786", "ws://cluster:80", "tcp://[fe80::1]:1", "ucx://h:1"]
)
def test_other_machines_need_tls(address):
    """A token would cross the network in the clear."""
    with pytest.raises(tk.UnsafeAddress, match="without TLS"):
        refuse_open_addresses(["tcp://127.0.0.1:8786", address])


def test_this_machine_and_tls_are_fine():
    """Loopback, the same process, and TLS; of these, programs on this machine can read a token on loopback."""
    private = ["inproc://10.0.0.3/7/1", "tls://c:1", "tls://127.0.0.1:1", "wss://c:1"]
    assert refuse_open_addresses(private) == ""
    for address in ("tcp://127.0.0.1:1", "tcp://[::1]:1", "tcp://localhost:1", "127.0.0.1:1"):
        assert refuse_open_addresses([*private, address]) == address
