"""Access tokens: requested, reused until shortly before they expire, and shared.

For each call `single_flight` decides which token to use: the current token, the token that another caller is fetching,
or a new token. To get a new token, `retrying` sends the request, more than once if that helps, and `response` reads
the reply. If the session shares its tokens with other processes, `store` looks for a stored token first, and lets one
process request a new token for all of them.

- `token`: the value itself, with its lifetime on two clocks, and when it is renewed.
- `response`: the reply of the token endpoint, as a token or an error.
- `retrying`: how often and when a temporary failure is tried again; `is_passing` of an error says which are.
- `single_flight`: one request at a time among the threads, tasks and sessions of a process.
- `store`: the same among processes, with sealed entries; `file_store` keeps them in a folder.
"""
