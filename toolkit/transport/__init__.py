"""How a request reaches the network, for synchronous and asynchronous callers.

- `flow` has two drivers, with and without `await`, and the effects they perform: send a request, read a body, pause,
  wait for another caller. The calls themselves are generators that are written once: `cassettes.through` and
  `session.sending`.
- `network` sends requests: it connects to each host directly or through a proxy, and queues the calls that wait for a
  connection. `certificates` decides which TLS certificates are trusted.
- `retry` decides whether and when a failed request is sent again, and `pacing` limits the rate of calls.
- `next_page` finds the next page of a list in a response.
- `failures` describes httpx errors and services' error statuses in words.
- `httpx2` converts requests, responses and errors between httpx2's clients and transports and httpx.
"""
