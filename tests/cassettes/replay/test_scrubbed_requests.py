"""What is remembered of scrubbed requests never outlives what it depends on."""

import httpx

import toolkit as tk
from toolkit.cassettes.replay.matching import ScrubbedRequests
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.scrubber import Scrubber

URI = "https://api.example.com/x"
WRITTEN = ("GET", URI, ((b"Accept", b"*/*"),), b"")
SCRUBBED = RecordedRequest("GET", URI)


def test_forgotten_with_what_it_depends_on():
    """A new secret, new addresses and rules each make the scrubbed form worthless."""
    scrubber = Scrubber(KnownSecrets())
    remembered = ScrubbedRequests(scrubber)
    for change in (
        lambda: scrubber.known.add("ACCESS_TOKEN", Secret("obviously-fake-token-1")),
        lambda: scrubber.use_addresses({"broker": "https://api.example.com"}, "SVC"),
        lambda: scrubber.add_rules(tk.Rules(names=["nickname"])),
    ):
        state = scrubber.state
        remembered.put(WRITTEN, SCRUBBED, state)
        assert remembered.get(WRITTEN) is SCRUBBED
        change()
        assert remembered.get(WRITTEN) is None
        remembered.put(WRITTEN, SCRUBBED, state)  # scrubbed before the change, by another thread
        assert remembered.get(WRITTEN) is None
    remembered.put(WRITTEN, SCRUBBED, scrubber.state)
    assert remembered.get(WRITTEN) is None  # with rules


def test_bounded():
    """Many requests and large bodies are not kept in memory."""
    scrubber = Scrubber(KnownSecrets())
    remembered = ScrubbedRequests(scrubber)
    for number in range(5_000):
        remembered.put((*WRITTEN[:3], b"%d" % number), SCRUBBED, scrubber.state)
    kept = sum(remembered.get((*WRITTEN[:3], b"%d" % number)) is SCRUBBED for number in range(5_000))
    assert 0 < kept <= 1_024
    large = (*WRITTEN[:3], b"x" * 100_000)
    remembered.put(large, SCRUBBED, scrubber.state)
    assert remembered.get(large) is None


def test_every_part_of_a_request_counts(tmp_path):
    """Requests that differ in method, URL, header or body get answers of their own when they are played again."""
    path = tmp_path / "c.yaml"
    options = [
        {"method": method, "url": URI, "params": {"n": n}, "headers": {"X-N": n}, "content": content}
        for method in ("POST", "PUT")
        for n in "12"
        for content in (b"a", b"b")
    ]

    def answer(request):
        said = (request.method, str(request.url), request.headers["X-N"], request.content.decode())
        return httpx.Response(200, json=said)

    def answers(cassette):
        with httpx.Client(transport=cassette.transport(httpx.MockTransport(answer))) as client:
            return [client.request(**option).json() for option in options * 2]

    match_on = ["method", "uri", "headers", "body"]
    with tk.Cassette(path, "all", match_on=match_on) as cassette:
        live = answers(cassette)
    assert answers(tk.Cassette(path, "none", match_on=match_on)) == live
