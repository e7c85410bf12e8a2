"""Access tokens: request one, reuse it until shortly before it expires, and share it.

A call needs a token, and `single_flight` says which: the current one, the one that another caller is fetching, or a
new one. A new one is requested with the patience of `retrying`, and `response` reads the reply. If the session shares
its tokens with other processes, `store` looks for one there first, and lets one process request it for all.

- `token`: the value itself, with its lifetime on two clocks.
- `response`: the reply of the token endpoint, as a token or an error.
- `retrying`: which failures are tried again, and when.
- `single_flight`: one request at a time among the threads, tasks and sessions of a process.
- `store`: the same among processes, with sealed entries; `file_store` keeps them in a folder.
"""
