"""Replay: which recorded interaction answers a request, and what to say if none does.

`player` looks each request up in an index (`matching`; `bodies` compares bodies by their meaning). It plays the
recordings that answer the request in order, as the calls come; the last recording repeats. If none matches, `misses`
makes the error, with the nearest recordings and how each of them differs (`differences`).
`play_log` notes what is played, for programs that ask which interactions a notebook or a test uses.
"""
