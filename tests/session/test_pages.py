"""Pages: read one after another, recorded and replayed like any call, and joined in one table."""

from __future__ import annotations

import asyncio
import json
import warnings
from itertools import islice

import httpx
import pytest
from session_calls import BOTH, finished

import toolkit as tk
from toolkit.local import progress
from toolkit.practice_service import practice
from toolkit.session.pages import Pages

PATH = "/v1/accounts"


def paged(service, contents, *, link="header"):
    """Let a service answer with these pages, which name each other; returns the list of numbers asked for."""
    asked = []

    def answer(request):
        number = int(request.url.params.get("p", 0))
        asked.append(number)
        following = str(request.url.copy_set_param("p", number + 1)) if number + 1 < len(contents) else None
        if link == "header":
            headers = {"Link": f'<{following}>; rel="next"'} if following else {}
            return service.reply(contents[number], headers=headers)
        return service.reply({"accounts": contents[number], "next": following})

    service.answer = answer
    return asked


def rows(*numbers):
    return [{"id": f"a{number}", "cash": f"{number}.50"} for number in numbers]


def plain(service):
    """Return a plain httpx client with this service."""
    return httpx.Client(base_url="https://api.example.com", transport=service)


def collect(pages, read):
    """Put pages into a list, which keeps those before an error."""
    for page in pages:
        read.append(page)


def listed(pages):
    """Return the responses of pages of either kind."""
    if hasattr(pages._client, "aclose"):

        async def go():
            return [page async for page in pages]

        return asyncio.run(go())
    return list(pages)


@BOTH
@pytest.mark.parametrize("link", ["header", "member"])
def test_all_pages(open_session, service, link, is_async):
    """Each page is asked for once, in order, with credentials; a loop that starts again starts anew."""
    asked = paged(service, [rows(1, 2), [], rows(3)], link=link)
    session = open_session(is_async=is_async)
    pages = tk.pages(session.broker, PATH, params={"status": "open"})
    assert (repr(pages), service.requests) == ("<Pages>", [])
    for _ in range(2):
        asked.clear()
        assert [response.request.url.params["status"] for response in listed(pages)] == ["open"] * 3
        assert asked == [0, 1, 2]
    assert all("Authorization" in request.headers for request in service.calls)
    table = tk.tabulate(listed(pages))
    assert table.to_dict("list") == {"id": ["a1", "a2", "a3"], "cash": [1.5, 2.5, 3.5]}


def test_pages_are_read_when_they_are_asked_for(service):
    """A loop that ends early sends no more; `tabulate` joins what a plain client reads."""
    asked = paged(service, [rows(1), rows(2), rows(3)])
    pages = tk.pages(plain(service), PATH)
    assert next(iter(pages)).json() == rows(1)
    assert asked == [0]
    asked.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tk.tabulate(pages)["id"].tolist() == ["a1", "a2", "a3"]
    assert asked == [0, 1, 2]


@BOTH
def test_one_page_is_one_request(open_session, service, is_async):
    """A service that sends everything gets exactly one call."""
    service.answer = lambda request: service.reply(rows(1, 2))
    session = open_session(is_async=is_async)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(finished(session.accounts())) == 2
    assert len(service.calls) == 1


def test_tokens_and_named_cursors(service):
    """Page tokens have their parameter; any other cursor is sent as the caller says."""
    asked = []

    def answer(request):
        asked.append(request.url.query.decode())
        number = len(asked)
        cursor = f"c/{number}=" if number < 3 else None
        return service.reply({"items": rows(number), "nextPageToken": cursor, "meta": {"n": cursor}})

    service.answer = answer
    assert len(tk.tabulate(tk.pages(plain(service), "/x", params={"size": 1}))) == 3
    assert asked == ["size=1", "size=1&pageToken=c%2F1%3D", "size=1&pageToken=c%2F2%3D"]
    asked.clear()
    assert len(tk.tabulate(tk.pages(plain(service), "/x", cursor=("meta.n", "from")))) == 3
    assert asked == ["", "from=c%2F1%3D", "from=c%2F2%3D"]
    asked.clear()
    with pytest.warns(UserWarning, match='"nextPageToken" names a next page. There is no cursor at "next"; without'):
        assert len(list(tk.pages(plain(service), "/x", cursor=("next", "from")))) == 1


@pytest.mark.parametrize("at_end", [{"next_cursor": None}, {}])
def test_no_warning_after_the_last_page(service, at_end):
    """After all pages of a named cursor neither reading nor a table warns, whatever the answers say about a total."""

    def answer(request):
        number = int(request.url.params.get("from", 1))
        following = {"next_cursor": number + 1} if number < 4 else at_end
        return service.reply({"items": rows(number), "total": 4} | following)

    service.answer = answer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tk.tabulate(tk.pages(plain(service), "/x", cursor=("next_cursor", "from")))) == 4
        assert len(tk.tabulate(list(tk.pages(plain(service), "/x", cursor=("next_cursor", "from"))))) == 4
    with pytest.warns(UserWarning, match="lacks pages of a list"):
        tk.tabulate(list(islice(tk.pages(plain(service), "/x", cursor=("next_cursor", "from")), 2)))


@pytest.mark.parametrize("cursor", ["offset", "page"])
@pytest.mark.parametrize("ending", ["empty", "the last page again", "the first page again"])
def test_counted_pages(service, cursor, ending):
    """Pages that are counted end with an empty page or with rows that came before, which are not read twice."""
    asked, lists = [], [rows(1, 2), rows(3, 4), rows(5)]

    def answer(request):
        asked.append(request.url.query.decode())
        count = int(request.url.params.get(cursor, {"offset": 0, "page": 1}[cursor]))
        number = {0: 0, 2: 1, 4: 2}.get(count, 3) if cursor == "offset" else count - 1
        again = {"empty": [], "the last page again": lists[-1], "the first page again": lists[0]}[ending]
        return service.reply({"items": lists[number] if number < 3 else again, "page": count})

    service.answer = answer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = tk.tabulate(tk.pages(plain(service), "/x", params={"size": 2}, cursor=cursor))
    assert table["id"].tolist() == ["a1", "a2", "a3", "a4", "a5"]
    counts = {"offset": [2, 4, 5], "page": [2, 3, 4]}[cursor]
    assert asked == ["size=2", *(f"size=2&{cursor}={count}" for count in counts)]


def test_counted_pages_begin_where_the_caller_says(service):
    """The first count is the caller's; one that is not a number is refused, and a service that ignores it ends."""
    asked = paged(service, [rows(1)])
    assert len(tk.tabulate(tk.pages(plain(service), PATH, params={"offset": "7"}, cursor="offset"))) == 1
    assert len(asked) == 2
    assert service.calls[-1].url.params["offset"] == "8"
    with pytest.raises(tk.ConfigurationError, match="offset of the first page is not a whole number"):
        list(tk.pages(plain(service), PATH, params={"offset": "x"}, cursor="offset"))
    with pytest.raises(tk.ConfigurationError, match="offset and page"):
        tk.pages(plain(service), PATH, cursor="offsets")


@pytest.mark.parametrize("status", [301, 404, 429, 500])
def test_a_page_with_an_error_status(service, status):
    """The error names the page; the pages before it were given."""
    paged(service, [rows(1), rows(2), rows(3)])
    answer, read = service.answer, []
    service.answer = lambda request: service.reply({}, status) if "p=1" in str(request.url) else answer(request)
    with pytest.raises(tk.ServiceError, match=rf"^Page 2: the service answered with status {status}") as caught:
        collect(tk.pages(plain(service), PATH), read)
    assert (caught.value.status, caught.value.response.status_code) == (status, status)
    assert [page.json() for page in read] == [rows(1)]
    service.answer = lambda request: service.reply({}, status)
    with pytest.raises(tk.ServiceError, match=r"^The service answered"):
        list(tk.pages(plain(service), PATH))


@BOTH
def test_a_page_that_cannot_be_had(open_session, service, is_async):
    """A broken connection, and a body that cannot be decoded, are errors that name the page."""
    paged(service, [rows(1), rows(2)])
    answer = service.answer

    def broken(request):
        if "p" not in request.url.params:
            return answer(request)
        raise httpx.ReadError("QXZ")

    service.answer = broken
    session = open_session(is_async=is_async, retry=False)
    with pytest.raises(tk.Unreachable, match=r"^Page 2: "):
        listed(tk.pages(session.broker, PATH))
    with pytest.raises(tk.Unreachable, match=r"^Page 2: "):
        finished(session.accounts())
    service.answer = lambda request: (
        answer(request)
        if "p" not in request.url.params
        else service.reply(b"no gzip", headers={"Content-Encoding": "gzip"})
    )
    with pytest.raises(tk.ServiceError, match=r"^Page 2: .* Content-Encoding"):
        listed(tk.pages(session.broker, PATH))


@pytest.mark.parametrize("following", [PATH, f"{PATH}?c=QXZ"])
def test_a_page_that_names_an_earlier_one(service, following):
    """Reading that would never end is an error; the cursor is not repeated in it."""
    service.answer = lambda request: service.reply({"accounts": rows(1), "next": following})
    read = []
    with pytest.raises(tk.ServiceError, match="read earlier") as caught:
        collect(tk.pages(plain(service), PATH), read)
    assert len(service.calls) == len(read) == (1 if following == PATH else 2)
    assert "QXZ" not in str(caught.value)


def test_another_origin(open_session, service):
    """A next page elsewhere is refused by plain clients and by sessions, and nothing is sent there."""
    service.answer = lambda request: service.reply(rows(1), headers={"Link": "<https://evil.example/x>; rel=next"})
    for read in (
        lambda: list(tk.pages(plain(service), PATH)),
        lambda: list(tk.pages(open_session().broker, PATH)),
        lambda: open_session().accounts(),
    ):
        with pytest.raises(tk.UnsafeAddress, match=r"evil\.example"):
            read()
    assert {request.url.host for request in service.calls}.isdisjoint({"evil.example"})


def test_a_redirect_to_another_origin(service):
    """A page that a client followed elsewhere does not make that place the origin of the next ones."""
    service.answer = lambda request: (
        service.reply(rows(1), headers={"Link": "</more>; rel=next"})
        if request.url.host == "evil.example"
        else httpx.Response(302, headers={"Location": "https://evil.example/x"})
    )
    client = httpx.Client(base_url="https://api.example.com", transport=service, follow_redirects=True)
    with pytest.raises(tk.UnsafeAddress, match=r"evil\.example"):
        list(tk.pages(client, PATH))
    assert len(service.calls) == 2


def test_more_that_cannot_be_followed(service):
    """A cursor without a parameter, or a flag, ends the loop with one warning that says what to pass."""
    service.answer = lambda request: service.reply({"items": rows(1), "next_cursor": "QXZ"})
    with pytest.warns(UserWarning, match=r'cursor=\("next_cursor", PARAMETER\)') as caught:
        assert len(tk.tabulate(tk.pages(plain(service), "/x"))) == 1
    assert len(caught) == 1
    assert "QXZ" not in str(caught[0].message)
    assert caught[0].filename == __file__
    service.answer = lambda request: service.reply({"items": rows(1), "has_more": True})
    with pytest.warns(UserWarning, match='"has_more" says that there is more'):
        assert len(list(tk.pages(plain(service), "/x"))) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"items": rows(1), "next": "/x?p=2"}, r'"next" names a next page\. tk\.tabulate\(tk\.pages\(client, path\)\)'),
        ({"items": rows(1), "meta": {"next_cursor": "QXZ"}}, r'cursor=\("meta\.next_cursor", PARAMETER\)'),
        ({"items": rows(1), "has_more": True}, r'"has_more" says that there is more\. It does not say'),
    ],
)
def test_a_response_that_is_one_page(service, body, message):
    """`tabulate` of a single response that names a next page warns, and says how to get the rest."""
    service.answer = lambda request: service.reply(body)
    with pytest.warns(UserWarning, match=message) as caught:
        tk.tabulate(plain(service).get("/x"))
    assert len(caught) == 1
    assert "QXZ" not in str(caught[0].message)
    assert caught[0].filename == __file__


def test_a_response_without_a_request():
    """The warning needs no request."""
    with pytest.warns(UserWarning, match="one page of a list"):
        tk.tabulate(httpx.Response(200, json=rows(1), headers={"Link": "</x>; rel=next"}))


def test_wrong_kinds_of_client(open_session, service):
    """The error says what to write instead; nothing is sent."""
    asynchronous = tk.pages(open_session(is_async=True).broker, PATH)
    for use in (list, tk.tabulate):
        with pytest.raises(tk.ConfigurationError, match=r"tk\.tabulate\(\[page async for page in"):
            use(asynchronous)

    async def go():
        return [page async for page in tk.pages(open_session().broker, PATH)]

    with pytest.raises(tk.ConfigurationError, match="with `for`"):
        asyncio.run(go())
    with pytest.raises(tk.ConfigurationError, match=r"session\.broker"):
        tk.pages(open_session(), PATH)
    for cursor in ("next", ("a",), ("a", 1), ("", "b"), ("a", "b", "c")):
        with pytest.raises(tk.ConfigurationError) as caught:
            tk.pages(httpx.Client(), PATH, cursor=cursor)
        assert caught.value.about == "cursor"
    assert service.requests == []


def test_what_is_not_pages():
    """An async generator, and an iterator over anything but responses, is an error that says what to pass."""

    async def later():
        yield

    with pytest.raises(tk.TabulationError, match=r"\[page async for page in"):
        tk.tabulate(later())
    with pytest.raises(tk.TabulationError, match="Page 1 is not a response but of type dict"):
        tk.tabulate(record for record in rows(1))
    assert tk.tabulate(iter([])).empty


@pytest.mark.parametrize("numbers", ["float", "decimal", "text"])
def test_pages_are_tabulated_like_one_answer(numbers):
    """Types, requested dtypes and errors are those of all records together; an error names the page."""
    contents = [[{"n": 1, "x": 0.1}], [], [{"n": 2.5, "x": 12345678901234567.25}], [{"late": "7"}]]
    responses = [httpx.Response(200, json=content) for content in contents]
    whole = json.dumps([record for content in contents for record in content])
    options = {"numbers": numbers, "dtypes": {"x": "str", "n": "Float64"}}
    left, right = tk.tabulate((page for page in responses), **options), tk.tabulate(whole, **options)
    assert left.equals(right)
    assert (left.dtypes == right.dtypes).all()
    with pytest.raises(tk.TabulationError, match=r"^Page 2: The answer is not JSON"):
        tk.tabulate([responses[0], httpx.Response(200, content=b"{")])
    with pytest.raises(tk.ServiceError, match=r"^Page 2: The service answered with status 500"):
        tk.tabulate([responses[0], httpx.Response(500)])


@BOTH
def test_accounts_of_all_pages(open_session, replayed, service, is_async):
    """accounts() reads all pages, and a replay gives the same table and calls without credentials."""
    paged(service, [rows(1, 2), rows(3), [], rows(4)])
    session = open_session(is_async=is_async, cassette="c")
    live = finished(session.accounts(status="open"))
    assert live["id"].tolist() == ["a1", "a2", "a3", "a4"]
    finished(session.close())
    again = replayed("c")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again.accounts(status="open").equals(live)
    assert again.calls().equals(session.calls())
    replayed_pages = [page.json() for page in tk.pages(again.broker, PATH, params={"status": "open"})]
    assert replayed_pages == [rows(1, 2), rows(3), [], rows(4)]


@pytest.mark.parametrize("link", ["header", "member"])
def test_links_in_a_recording(open_session, service, settings, link):
    """Links lead to the symbol of the address in a recording; a session with addresses follows them, too."""
    paged(service, [rows(1), rows(2), rows(3)], link=link)
    with open_session(cassette="c") as session:
        tk.tabulate(tk.pages(session.broker, PATH))
    recorded = (settings.cassettes / "c.yaml").read_text()
    assert "broker-sandbox.example.com" not in recorded
    assert "https://broker-sandbox.svc.invalid/v1/accounts?p=1" in recorded
    sent = len(service.requests)
    with open_session(cassette="c", mode="none") as session:
        assert tk.tabulate(tk.pages(session.broker, PATH))["id"].tolist() == ["a1", "a2", "a3"]
    assert len(service.requests) == sent


def test_the_practice_service(settings, tmp_path):
    """More accounts than fit one answer are one table, live and replayed without credentials and service."""
    with practice(accounts=120) as service:
        options = {"credentials": service.credentials["sandbox-secret"], "settings": service.settings}
        with tk.Session(cassette=tmp_path / "c.yaml", **options) as session:
            live = session.accounts()
            pages = list(tk.pages(session.broker, PATH, params={"page_size": 50}))
        assert [len(page.json()) for page in pages] == [50, 50, 20]
        assert tk.tabulate(pages)["id"].tolist() == live["id"].tolist()
    assert live["id"].nunique() == 120
    with tk.Session(cassette=tmp_path / "c.yaml", mode="none", settings=settings) as session:
        assert session.accounts().equals(live)
        assert len(tk.tabulate(tk.pages(session.broker, PATH, params={"page_size": 50}))) == 120
        assert len(session.calls()) == len(live) // 100 + 1 + 3 + 1


def test_cursors_stay_apart_in_a_recording(open_session, replayed, service):
    """Page tokens are not taken for secrets: replaced by one placeholder, they would all be the same."""
    tokens = [f"Zk3hQ8{'vX2mN7pL4sT9wB1cR6'}", f"pQ7rS2{'tU9vW4xY1zA6bC3dE8'}", None]

    def answer(request):
        token = request.url.params.get("page_token")
        number = tokens.index(token) + 1 if token else 0
        return service.reply({"accounts": rows(number), "next_page_token": tokens[number]})

    service.answer = answer
    with open_session(cassette="c") as session:
        assert len(session.accounts()) == 3
    assert len(replayed("c").accounts()) == 3


@BOTH
def test_a_recording_of_some_pages(open_session, settings, service, is_async):
    """In a replay the last recorded page is the end, with a warning; without the first page there is no table."""
    asked = paged(service, [rows(1), rows(2), rows(3)])
    with open_session(cassette="c") as session:
        session.broker.get(PATH)
    asked.clear()
    session = (tk.AsyncSession if is_async else tk.Session)(cassette="c", mode="none", settings=settings)
    with pytest.warns(UserWarning, match="The recording ends with page 1") as caught:
        assert finished(session.accounts())["id"].tolist() == ["a1"]
    assert len(caught) == 1
    with pytest.raises(tk.CassetteMiss):
        finished(session.accounts(status="open"))
    with pytest.raises(tk.CassetteMiss):
        listed(tk.pages(session.broker, PATH))
    assert asked == []


@BOTH
@pytest.mark.parametrize("name", ["limit", "page_size", "perPage", "page", "offset", "cursor", "page_token"])
def test_a_page_of_the_callers_own(open_session, service, name, is_async):
    """With a limit or cursor of the caller's own that page is the table, with one warning that names the parameter."""
    asked = paged(service, [rows(1), rows(2)])
    session = open_session(is_async=is_async)
    with pytest.warns(UserWarning, match=f"one page of the accounts: .* Leave out {name} ") as caught:
        assert finished(session.accounts(**{name: 1}))["id"].tolist() == ["a1"]
    assert (len(caught), asked) == (1, [0])


@BOTH
def test_the_first_page_only(open_session, service, is_async):
    """`pages=False` gives the first page without a warning, and is not sent."""
    asked = paged(service, [rows(1), rows(2)])
    session = open_session(is_async=is_async)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert finished(session.accounts(pages=False, status="x"))["id"].tolist() == ["a1"]
    assert asked == [0]
    assert service.calls[0].url.query == b"status=x"


def test_accounts_that_have_more(open_session, service):
    """If there is more than accounts() can follow, it warns once."""
    service.answer = lambda request: service.reply({"accounts": rows(1), "has_more": True})
    with pytest.warns(UserWarning, match="More pages follow after page 1") as caught:
        open_session().accounts()
    assert len(caught) == 1


def test_an_error_page_of_accounts(open_session, service):
    """The error of a later page has the service's message, without a secret that it repeats."""
    paged(service, [rows(1), rows(2)])
    answer, session = service.answer, open_session()
    secret = session.credentials.client_secret.reveal()
    service.answer = lambda request: (
        service.reply({"message": f"no {secret}"}, 500) if "p" in request.url.params else answer(request)
    )
    with pytest.raises(tk.ServiceError, match=r"^Page 2: .* It says: no <CLIENT_SECRET>") as caught:
        session.accounts()
    assert caught.value.response.status_code == 500
    service.answer = lambda request: (
        service.reply(f"<{secret}".encode()) if "p" in request.url.params else answer(request)
    )
    with pytest.raises(tk.TabulationError, match="cannot be read as a table") as caught:
        session.accounts()
    assert secret not in str(caught.value)


def test_progress(service, monkeypatch):
    """Progress appears from the second page on, when reading takes a while."""
    shown = []

    class Line:
        def show(self, status):
            shown.append(status.running_text())

        def end(self, text):
            shown.append(text)

    seconds = iter(range(0, 1000, 2))
    monkeypatch.setattr(progress, "line_here", Line)
    monkeypatch.setattr(
        progress.Loop.__init__,
        "__kwdefaults__",
        progress.Loop.__init__.__kwdefaults__ | {"line": Line, "seconds": lambda: next(seconds)},
    )
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    paged(service, [rows(1)])
    list(tk.pages(plain(service), PATH))
    assert shown == []
    paged(service, [rows(1), rows(2), rows(3)])
    list(tk.pages(plain(service), PATH))
    assert [text.split(" in ")[0] for text in shown] == ["pages: 2", "pages: 3", "pages: 3"]


def test_headers_of_the_first_request(service):
    """The later pages repeat the headers of a first request, except for those that belong to one request."""
    client = plain(service)
    first = client.build_request("GET", PATH, headers={"Accept": "text/csv", "X-Desk": "7", "Host": "api.example.com"})
    walk = Pages(client, first).begin()
    walk.go_on(httpx.Response(200, headers={"Link": "<?p=1>; rel=next"}, request=first))
    assert walk.request is not None
    assert (walk.request.headers["accept"], walk.request.headers["x-desk"]) == ("text/csv", "7")
    assert walk.request.headers.get_list("host") == ["api.example.com"]


def test_accounts_that_name_themselves(open_session, service):
    """The error about a page that names itself does not quote a message of the page, which is a good one."""
    service.answer = lambda request: service.reply({"accounts": rows(1), "next": PATH, "message": "QXZ"})
    with pytest.raises(tk.ServiceError, match="read earlier") as caught:
        open_session().accounts()
    assert "QXZ" not in str(caught.value)
