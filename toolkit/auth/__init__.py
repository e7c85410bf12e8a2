"""Credentials, and how requests are authenticated with them.

1. The user creates credentials of one of the `kinds` (`credentials` has their base class), or names a profile
   (`profiles`): credentials that were saved, or set in environment variables or `.env`. The constructor checks every
   string, reads a private key once (`private_keys`), and warns if the running notebook cell contains a secret.
2. The session makes an authorizer from them (`authorizers`) and asks it for a grant before each request. A new kind
   needs a class in `kinds`, an entry in `core.document`, and an authorizer for `session.token_requests`.
3. A key pair can be used immediately. A client secret or client key needs an access token (`tokens`), which all
   sessions with the same credentials share; only one of them requests the next token.
4. A token request contains the client secret, or an assertion signed with the private key (`private_keys`).
5. The grant's headers are set on a copy of the request. The cassette sees only the caller's request without them.
6. The authorizer notes the response status. After a 401, the token is renewed once and the request is sent again.

Shared tokens and, if the system has a keyring, saved profiles are encrypted (`sealing`). Credentials are sent only to
addresses that their owner chose: `destinations` remembers these addresses and checks every use of the credentials.
"""
