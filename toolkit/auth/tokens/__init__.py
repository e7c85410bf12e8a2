"""Access tokens: requested, reused until shortly before they expire, and shared.

- `token`: the value itself, with its lifetime on two clocks, the reply of the token endpoint that becomes one, and the
  store in which processes share it, with sealed entries.
- `single_flight`: one request at a time among the threads, tasks and sessions of a process, sent again if that helps.
"""
