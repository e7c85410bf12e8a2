"""Sessions: one caller in one environment.

A request passes these modules on its way from the httpx client to the network:

1. `session.sending`: the transport of the client. A `Sender` makes a `SessionRequest` of each request.
2. `session.scope`: refuses what may not be sent, before anything else happens.
3. `cassettes.through`: asks `cassettes.cassette` for a recording. If one matches, it is the answer, and nothing below
   runs; otherwise the answer from below is recorded. Neither ever sees credentials.
   `transport.places` lets a hundred calls be under way at once; the others queue.
4. `auth.authorizers`: grants credentials; `session.authorizing` chooses by their kind. `session.tries` puts them on a
   copy of the request and sends it: in its turn if `transport.pacing` limits the rate, once more with a renewed token
   after a 401, and a few times after 429, 503 or a broken connection, as `transport.retry` says.
5. `auth.tokens.single_flight`: one token request for all callers who need the token; `session.token_requests` sends
   and records it, and `auth.tokens.retrying` says how often it is repeated. Key pairs skip this.
6. `transport.network`: sends, directly or through a proxy.

These steps are generators, written once; `transport.flow` drives them for sync and async.

Open `session` for what users call, `base` for what both kinds of session share, `opening` for arguments and their
defaults, `trust` for certificates and proxies, `history` for `now()`, tokens and tables, `answers` for accounts() and
its errors, `card` for what notebooks show, `lending` for what a loan takes. `pages` sends one request after another
through a client, a session's or any other, for the pages of a list. `repeating` sends a recorded request again, to see
what has changed.
"""

from toolkit.session.session import AsyncSession, Session

__all__ = ["AsyncSession", "Session"]
