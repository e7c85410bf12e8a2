"""Credentials: who is calling, and how a request proves that.

1. The user makes credentials of one of the `kinds` (`credentials` is what all have in common), or names a profile,
   which is credentials that were saved, or set in variables or `.env` (`profiles`). The constructor checks every
   text, reads a private key once (`private_keys`), and warns if the running notebook cell contains a secret.
2. The session makes an authorizer from them (`authorizers`) and asks it for a grant before each request. A new kind
   needs a class in `kinds`, its users in `core.document`, and an authorizer for `session.token_requests`.
3. A key pair can be used at once. A client secret or key needs an access token (`tokens`), which all sessions with the
   same credentials share; only one of them requests the next token.
4. A token request contains the client secret, or an assertion signed with the private key (`private_keys`).
5. The headers of the grant are set on a copy of the request, below the cassette, never on the caller's own request.
6. The authorizer notes the status of the response. After a 401, the token is renewed once and the request sent again.

Saved profiles and shared tokens are encrypted on disk (`sealing`). Credentials are sent only to addresses that their
owner chose, which `destinations` compares and remembers.
"""
