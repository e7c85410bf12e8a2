"""Loans: a session on the workers of a Dask cluster, without its credentials.

Needs the extra `dask`. The story of a token:

1. `lend`: what users call. It checks session and cluster, publishes a first token, and gives the handle.
2. `lender`: in the lender's process, a thread renews the token shortly before it expires, through the session's own
   token source, and publishes it.
3. `publication`: what is published, as plain data, and how a borrower on another machine judges its age.
4. `cluster`: Dask's part: the variable that holds the publication, and the topic on which workers ask. A scheduler on
   another machine needs TLS.
5. `handle`: what the tasks get. It pickles without a secret, and opens one session a process when it is first used.
6. `borrower`: in a worker's process, gets the newest token when its own is about to expire or was refused. A session
   there authorizes with `toolkit.auth.borrowed`, and never sends a token request.
"""

from toolkit.loans.lend import lend

__all__ = ["lend"]
