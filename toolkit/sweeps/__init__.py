"""Sweeps: one call for each of many keys, and all rows in a folder of Parquet files. Loans: a session on a cluster.

1. `sweeping`: `sweep` makes a `Job` of its arguments, which opens the `folder` and runs. Its result is the table, the
   failures and another try for those.
2. `running`: `at_once` threads or tasks take keys and ask for them (`asking`); one thread makes rows of the answers and
   writes them as `parts`. On a Dask cluster, keys are handed out in shares, for which workers run the same code.
3. `lend` lends a session to a cluster: a thread in the lender's process renews the token and publishes it in a variable
   of Dask. `borrower` is the handle that the tasks get, and the session that it opens, which requests no tokens.

The parts are the only state: each holds the keys that it finishes and those that failed. So a sweep that is killed
between any two steps and run again asks for each key until it has an answer, and has each answer once.
"""
