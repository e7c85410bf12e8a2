"""Pages: read one after another, recorded and replayed like any call, and joined in one table."""

from __future__ import annotations

import asyncio
import warnings

import httpx
import pytest
from session_calls import BOTH, finished

import toolkit as tk
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
    pages = tk.pages(plain(service), httpx.URL(PATH))
    assert next(iter(pages)).json() == rows(1)
    assert asked == [0]
    asked.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tk.tabulate(pages)["id"].tolist() == ["a1", "a2", "a3"]
    assert asked == [0, 1, 2]


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
    with pytest.warns(UserWarning, match='"nextPageToken" names a next page. There is no cursor at "next"'):
        assert len(list(tk.pages(plain(service), "/x", cursor=("next", "from")))) == 1


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
    with pytest.raises(tk.ConfigurationError, match="cursor must be a pair"):
        tk.pages(plain(service), PATH, cursor="offsets")


@pytest.mark.parametrize("status", [301, 404, 429, 500])
def test_a_page_with_an_error_status(service, status):
    """The error names the page; the pages before it were given."""
    paged(service, [rows(1), rows(2), rows(3)])
    answer, read = service.answer, []
    service.answer = lambda request: service.reply({}, status) if "p=1" in str(request.url) else answer(request)
    with pytest.raises(tk.ServiceError, match=rf"^Page 2: the service answered with status {status}") as caught:
        read.extend(tk.pages(plain(service), PATH))
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
    with pytest.raises(tk.ServiceError, match="already read") as caught:
        read.extend(tk.pages(plain(service), PATH))
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
        ({"items": rows(1), "has_more": True}, r'"has_more" says that there is more\. The page does not say'),
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


def test_headers_of_the_first_request(service):
    """The later pages repeat the headers of a first request, except for those that belong to one request."""
    client = plain(service)
    first = client.build_request("GET", PATH, headers={"Accept": "text/csv", "X-Desk": "7", "Host": "api.example.com"})
    walk = Pages(client, first).begin()
    walk.go_on(httpx.Response(200, headers={"Link": "<?p=1>; rel=next"}, request=first))
    assert walk.request is not None
    assert (walk.request.headers["accept"], walk.request.headers["x-desk"]) == ("text/csv", "7")
    assert walk.request.headers.get_list("host") == ["api.example.com"]
