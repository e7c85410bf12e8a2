"""How a request reaches the network, for synchronous and asynchronous callers.

- `flow` is the heart: the logic of a call is written once as a generator, and two drivers do its I/O, with and
  without `await`. Waiting for a token that another caller is fetching is one of the effects.
- `network` sends requests: httpx transports, direct or through a proxy, chosen for each host;
  it also puts connection errors into words.
- `tracebacks` keeps credentials out of tracebacks, which can show the local variables of every frame.
"""
