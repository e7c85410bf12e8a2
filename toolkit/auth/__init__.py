"""Credentials: who is calling, and how a request proves it.

A request gets its credentials in this order:

1. The user makes credentials for one environment (`credentials`), or names a profile, which is credentials that were
   saved, or set in variables or `.env` (`profiles`). The constructor of credentials checks every string (`checks`),
   reads a private key once (`keys`), and warns if the running notebook cell contains a secret (`cell_warning`).
2. The session makes an authorizer from them (`authorizers`) and asks it for a grant before each request.
3. A key pair is ready at once. A client secret or key needs an access token (`tokens`). All sessions with the same
   credentials share the current token, and so do other processes with the same store; only one of them requests the
   next token.
4. A token request carries the client secret, or an assertion signed with the private key (`assertion`). It is
   repeated after temporary failures, and its reply becomes a Token.
5. The headers of the grant go on a copy of the request (`grants`), below the cassette. The caller's own request
   never holds them.
6. The authorizer takes note of the answer. After a 401 the token is renewed once and the request is sent again.

A session on a cluster's worker borrows its tokens from a lender, so that steps 3 and 4 do not happen there.

Saved profiles and shared tokens are encrypted on disk (`sealing`). Credentials go only to addresses that their owner
chose: `destinations` compares them, and `destination_memory` remembers them. `correcting` says where to correct them
after a refusal.
"""
