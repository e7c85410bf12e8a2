"""Sessions: one caller in one environment.

A request passes these modules on its way from the httpx client to the network:

1. `session.sending`: the transport of the client. A `Sender` makes a `SessionRequest` from each request.
2. `session.scope`: refuses what may not be sent, before anything else happens.
3. `cassettes.through`: asks `cassettes.cassette` for a recording. If one matches, it is the response, and nothing below
   runs; otherwise the response from below is recorded. Neither ever sees credentials. A hundred calls may be in
   progress at once; the others queue (`Places` in `transport.network`).
4. `session.sending` again: puts credentials on a copy of the request and sends it: in its turn if `transport.pacing`
   limits the rate, once more with a renewed token after a 401, and a few times after 429, 503 or a broken connection,
   as `transport.retry` says.
5. `auth.tokens.single_flight`: one token request for all callers who need the token. `session.token_requests` sends and
   records it, and `auth.tokens.single_flight` decides how often it is repeated. Key pairs skip this.
6. `transport.network`: sends, directly or through a proxy.

These steps are generators, written once; `transport.flow` drives them for sync and async.

What users call is in `session`, what decides who calls is in `scope`, and what notebooks show is in `card`. `pages`
reads the pages of a list with a session's client or any other, and makes a table of the accounts.
"""

from toolkit.session.session import AsyncSession, Session

__all__ = ["AsyncSession", "Session"]
