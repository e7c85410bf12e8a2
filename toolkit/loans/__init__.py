"""Loans: a session on the workers of a Dask cluster, without its credentials. Needs the extra `dask`.

1. `lend` checks session and cluster. A thread in the lender's process renews the token shortly before it expires,
   through the session's own token source, and publishes it.
2. `cluster` is Dask's part: the variable that holds the publication, and the topic of the workers' reports. A
   scheduler on another machine needs TLS.
3. `borrower`: the handle that the tasks get, and the session that it opens in a worker's process. It never sends a
   token request.
"""
