"""Recordings and notebooks for other people: copies to give away, and tests that play recordings.

- `publishing` makes a copy of a notebook that anyone may have, with the recordings that it plays.
- `saved_secrets` looks for secrets in files, those of the saved credentials included.
- `drift` repeats recorded reads live, and tabulates what the service answers differently today.
- `pytest_plugin` gives tests sessions that replay, and collects notebooks as tests.
"""
