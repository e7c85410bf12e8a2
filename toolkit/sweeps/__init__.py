"""Sweeps: one call for each of many keys, and all rows in a folder of Parquet files.

A sweep passes these modules:

1. `sweeping`: the function `sweep` makes a `job` of its arguments, which can run more than once.
2. `places` chooses between `storage` and, for addresses of fsspec, `remote`: the place of the files, its lock, and how
   a file is written whole.
3. `folder`: opens what is there, refuses to mix it with another `definition`, and repairs what an interruption left.
4. `keys`: gives out the keys that are not finished, each once; `plan` makes the request of a key.
5. `running`: `at_once` threads or tasks take keys; `asking` asks for one, with its pages, and returns an outcome, see
   `outcomes`. `streak` stops a sweep that fails for key after key, and `status` shows how far it is.
6. `recorder`: collects outcomes and writes them every few seconds. `rows` makes rows of answers and gives them the
   columns and types of each other; `parts` puts rows and the keys that they finish into one file.
7. On a Dask cluster, `spreading` hands out keys in shares to the workers of a pool (`dask_pool`); in `shares` a worker
   asks for its own, as in steps 4 to 6.
8. `result`: the table, the failures and another try for those.

The folder is the only state. A part is written under another name and renamed into place, and its metadata says which
keys it finishes. So a sweep that is killed between any two steps and run again asks for each key until it has an
answer, and has each answer once.
"""
