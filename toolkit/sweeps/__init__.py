"""Sweeps make one call for each of many keys and write all rows to Parquet files. Loans lend a session to a cluster.

1. `sweeping`: `sweep` makes a `Job` from its arguments; the job opens the `folder` and runs. The result has the table
   and the failures, and can retry the failures.
2. `running`: `at_once` threads or tasks take keys, request them and read the responses (`asking`); one thread writes
   rows as `parts`. On a Dask cluster, the keys are divided into shares, and each worker does this for its share.
3. `lend` lends a session to a cluster: a thread in the lender's process renews the token and publishes it in a Dask
   variable. `borrower` contains the handle that tasks receive and the session that it opens, which requests no tokens.

The parts are the only state: each lists the keys whose rows it contains and the keys that failed. So a sweep can be
killed between any two steps and rerun: it requests each key until there is a response, and stores each response once.
"""
