"""accounts(): a table, or an error that says what happened and repeats no secret."""

from __future__ import annotations

import pickle
from urllib.parse import unquote

import pytest
from session_calls import BOTH, finished

import toolkit as tk


@BOTH
@pytest.mark.parametrize("environment", ["paper", "broker-sandbox"])
def test_accounts(open_session, service, environment, is_async):
    """accounts() sends the call of section 4.2 for its holder with the parameters, and returns a table."""
    service.answer = lambda request: service.reply([{"id": "1", "cash": "2.50"}])
    frame = finished(open_session(environment, is_async=is_async).accounts(status="open"))
    assert frame.to_dict("list") == {"id": ["1"], "cash": [2.5]}
    path = "/v2/account" if environment == "paper" else "/v1/accounts"
    assert [request.url.raw_path.decode() for request in service.calls] == [f"{path}?status=open"]


@BOTH
@pytest.mark.parametrize(
    ("account", "row"),
    [
        (
            {"id": "1", "cash": "9.5", "balances": {"USD": {"total": 2}, "EUR": {"total": 4}}},
            {"id": "1", "cash": 9.5, "balances.USD.total": 2, "balances.EUR.total": 4},
        ),
        (
            {"account": {"id": "1", "cash": "9.5"}, "positions": [{"symbol": "X"}, {"symbol": "Y"}]},
            {"account.id": "1", "account.cash": 9.5, "positions": '[{"symbol": "X"}, {"symbol": "Y"}]'},
        ),
    ],
)
def test_an_account_is_one_row(open_session, service, account, row, is_async):
    """The account of an account holder is one row with all its fields, whatever lists and objects it holds."""
    service.answer = lambda request: service.reply(account)
    accounts = finished(open_session("paper", is_async=is_async).accounts())
    assert accounts.to_dict("records") == [row]
    service.answer = lambda request: service.reply({"accounts": [account, account]})
    assert len(finished(open_session("broker-sandbox", is_async=is_async).accounts())) == 2


@BOTH
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_error_status(open_session, service, status, is_async):
    """An error status raises a ServiceError with the status, the response and the service's message."""
    service.answer = lambda request: service.reply({"message": "QXZ is a whole number"}, status)
    with pytest.raises(tk.ServiceError) as caught:
        finished(open_session("paper", is_async=is_async, retry=False).accounts())
    assert caught.value.status == status
    assert caught.value.what.endswith("The service says: QXZ is a whole number")
    assert caught.value.response.json() == {"message": "QXZ is a whole number"}
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here
    assert (again.status, again.response) == (status, None)


def test_secret_in_a_path(open_session, service):
    """The path in an error repeats no secret, however it is written."""
    service.answer = lambda request: service.reply({}, 404)
    session = open_session("paper")
    secret = session.credentials.secret_key.reveal()
    for written in (secret, "".join(f"%{ord(letter):02X}" for letter in secret)):
        with pytest.raises(tk.ServiceError, match="GET /v2/") as caught:
            tk.tabulate(session.trading.get(f"/v2/{written}/x"))
        assert written not in caught.value.what
        assert secret not in unquote(caught.value.what)


@BOTH
def test_replayed_error(open_session, replayed, service, is_async):
    """An error says first that it was replayed, and how to call again."""
    service.answer = lambda request: service.reply({}, 401)
    session = open_session("paper", cassette="refused", is_async=is_async)
    with pytest.raises(tk.ServiceError) as live:
        finished(session.accounts(token="hush"))
    finished(session.close())
    with pytest.raises(tk.ServiceError) as caught:
        replayed("refused").accounts(token="hush")
    beginning = "Replayed from refused.yaml: the service answered GET /v2/account with "
    assert caught.value.what.startswith(beginning)
    next_step = 'Nothing was sent. To send the call again, record with mode="all", or delete the file first.'
    assert caught.value.next_step == next_step
    assert caught.value.status == live.value.status == 401
    assert live.value.next_step.startswith("The service did not accept the credentials: check them")
    assert live.value.what.startswith("The service answered GET /v2/account with ")
    assert "hush" not in f"{live.value}{caught.value}"


def test_refusal_names_the_profile(open_session, service, settings, make_credentials, monkeypatch):
    """A refusal says which profile was used and where to correct it, in words that are the same on every machine."""
    service.answer = lambda request: service.reply({}, 401)
    monkeypatch.setenv("TOOLKIT_PAPER__FUND_KEY_ID", "PK-1234567")
    monkeypatch.setenv("TOOLKIT_PAPER__FUND_SECRET_KEY", "secret-1234567")
    monkeypatch.setattr("toolkit.auth.profiles.saved._keyring", lambda: None)  # as without a keyring
    with pytest.warns(UserWarning, match="keyring"):
        tk.save_credentials(make_credentials("paper"), "desk", settings=settings)
    command = "`toolkit credentials add desk --environment paper`"
    for name, where in (
        ("fund", "The credentials come from the profile fund in environment variables: correct them there."),
        ("desk", f"The credentials come from the saved profile desk; to replace them, run {command}."),
    ):
        with pytest.raises(tk.ServiceError) as caught:
            tk.Session("paper", name, settings=settings, transport=service).accounts()
        assert caught.value.next_step.endswith(where)
    with pytest.raises(tk.ServiceError) as caught:
        open_session(credentials=make_credentials("paper")).accounts()
    assert "profile" not in caught.value.next_step
    options = {"cassette": "x", "mode": "new_episodes", "settings": settings, "transport": service}
    for _ in range(2):  # recorded, then replayed, when nothing was sent with today's credentials
        with pytest.raises(tk.ServiceError) as caught:
            tk.Session("paper", "fund", **options).accounts()
    assert caught.value.what.startswith("Replayed from x.yaml")
    assert "profile" not in caught.value.next_step
