"""Sweeps: one call for each of many keys, and all rows in a folder of Parquet files. Loans: a session on a cluster.

1. `sweeping`: `sweep` makes a `Job` from its arguments, which opens the `folder` and runs. The result has the table and
   the failures, and can retry those.
2. `running`: `at_once` threads or tasks take keys, request them and read the responses (`asking`); one thread writes
   rows as `parts`. On a Dask cluster, keys are distributed in shares, for which workers run the same code.
3. `lend` lends a session to a cluster: a thread in the lender's process renews the token and publishes it in a Dask
   variable. `borrower` has the handle that the tasks get, and the session that it opens, which does not request tokens.

The parts are the only state: each contains the keys that it finishes and those that failed. So a sweep that is killed
between any two steps and run again requests each key until it has a response, and has each response once.
"""
