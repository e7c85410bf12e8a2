"""Sessions, each of which sends calls for one caller in one environment.

A request passes through these modules on its way from the httpx client to the network:

1. `session.sending`: the client's transport. A `Sender` makes a `SessionRequest` from each request.
2. `session.scope`: refuses requests that may not be sent, before anything else happens.
3. `cassettes.through`: asks `cassettes.cassette` for a recording. If one matches, it is returned as the response and
   the later steps do not run; otherwise the response from the later steps is recorded. Neither module sees credentials.
   Up to a hundred calls may be in progress at once; further calls queue (`Places` in `transport.network`).
4. `session.sending` again: adds credentials to a copy of the request and sends it. If `transport.pacing` limits the
   rate, the request waits for its turn. It is sent once more with a new token after a 401, and a few times after 429,
   503 or a broken connection, according to `transport.retry`.
5. `auth.tokens.single_flight`: makes one token request for all concurrent calls that need the token.
   `session.token_requests` sends and records it, and `auth.tokens.single_flight` decides how many times it is retried.
   With a key pair, which needs no token, this step is skipped.
6. `transport.network`: sends the request, directly or through a proxy.

These steps are generators, written once; `transport.flow` drives them for sync and async.

`session` has the classes that users call, `scope` determines the caller, and `card` renders a session for a notebook.
`pages` reads the pages of a list with any client, and makes the table of a session's accounts.
"""

from toolkit.session.session import AsyncSession, Session

__all__ = ["AsyncSession", "Session"]
