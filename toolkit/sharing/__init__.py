"""Recordings and notebooks for other people: copies to give away, and tests that play recordings.

- `saved_secrets` looks for secrets in files, those of the saved credentials included.
- `publish` makes a copy of a notebook that anyone may have: `copying` replaces values in what the notebook plays and in
  its texts, and searches the result; `page` makes a page of it that needs no Jupyter.
- `drift` repeats recorded reads live, and tabulates what the service answers differently today.
- `pytest_plugin` gives tests sessions that replay, and collects notebooks as tests.
"""
