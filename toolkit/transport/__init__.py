"""How a request reaches the network, for synchronous and asynchronous callers.

- `flow` has two drivers, with and without `await`, and the effects they perform: send a request, read a body, pause,
  wait for another caller. The calls themselves are generators that are written once: `cassettes.through` and
  `session.sending`.
- `family` is the HTTP library of the process, httpx or httpx2, by the variable TOOLKIT_HTTPX; `adapter` converts the
  requests, answers and errors of one to those of the other, so that clients and transports of either work.
- `chunks` reads bodies and closes their generators; `discard` closes a response that nobody reads, and `send_and_read`
  limits the time and the size of an answer.
- `network` sends requests: httpx transports, direct or through a proxy, chosen for each host; `unreachable` puts errors
  of the network into words.
- `certificates` says whose TLS certificates are trusted, and what to do about one that is refused.
- `next_page` tells from an answer where the page after it is; `link_header` and `paging_members` read what answers say
  about it.
- `provenance` notes on a response where it came from, for the tables that are made of it.
- `connections` are the httpx transports to one host, each for one connection; `places` is the queue in front of them.
- `retry` says whether and when a failed request is sent again, `pacing` when a call may be sent at a limited rate.
"""
