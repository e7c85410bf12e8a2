"""Access tokens: requested, reused until shortly before they expire, and shared.

- `token`: the value itself, with its lifetime on two clocks, and the reply of the token endpoint that becomes one.
- `single_flight`: one request at a time among the threads, tasks and sessions of a process, sent again if that helps.
- `store`: the same among processes, with sealed entries, which a folder or a store of the user's own keeps.
"""
