"""Sweeps: one call for each of many keys, and all rows in a folder of Parquet files.

1. `sweeping`: `sweep` makes a `Job` of its arguments, which opens the `folder` in its place (`places`), and runs.
2. `running`: `at_once` threads or tasks take keys and ask for them (`asking`); one thread makes rows of the answers
   (`alike`) and writes them as `parts`.
3. On a Dask cluster, `on_dask` hands out keys in shares, and a worker runs the same code for its own.
4. `result`: the table, the failures and another try for those.

The parts are the only state: each holds the keys that it finishes and those that failed. So a sweep that is killed
between any two steps and run again asks for each key until it has an answer, and has each answer once.
"""
