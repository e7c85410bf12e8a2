"""Replay: which recorded interaction answers a request, and what to say if none does.

`player` looks each request up in an index (`matching`) and plays the recordings that answer it in order, as the calls
come; the last one repeats. If nothing answers, `misses` makes the error, with the nearest recordings and what is
different about each (`differences`).
"""
