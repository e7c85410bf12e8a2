"""Sessions: one caller in one environment.

A request passes eight modules between its httpx client and the network:

1. `session.sending`: the transport of the client; a `Sender` for each session.
2. `session.scope`: refuses what may not be sent, before anything else happens.
3. `cassettes.transport`: `through` replays a recorded call, so that nothing below runs, or records the answer.
4. `cassettes.cassette`: finds and records, without ever seeing credentials.
5. `auth.authorizers`: puts the credentials on a copy of the request; renews a token once after a 401.
6. `auth.tokens.single_flight`: one token request for all who need the token; `token_requests` sends and records it,
   and `auth.tokens.retrying` repeats it when the endpoint is in trouble. Key pairs skip this.
7. `transport.flow`: drives these steps, sync or async; nothing else sends or awaits.
8. `transport.network`: direct or through a proxy.

Open `session` for what users call, `opening` for arguments and their defaults, `history` for `now()`, tokens and
tables, `answers` for accounts() and its errors, `card` for what notebooks show.
"""

from toolkit.session.session import AsyncSession, Session

__all__ = ["AsyncSession", "Session"]
