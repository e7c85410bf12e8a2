"""Replay: which recorded interaction answers a request, and what to say if none does.

`player` looks each request up in an index (`matching`). It plays the recordings that answer the request in order, as
the calls come; the last recording repeats. If none matches, `differences` makes the error, with the nearest recordings
and how each of them differs. `recorded_values` keeps stand-ins of a recording from being sent to a service.
"""
