"""Recordings and notebooks for other people: copies to give away, and tests that play recordings.

- `saved_secrets` looks for secrets in files, including those of the saved credentials.
- `publish` makes a copy of a notebook to share: `copying` replaces values in what the notebook plays and in its
  strings, and searches the result; `page` makes an HTML page that needs no Jupyter.
- `drift` repeats recorded reads live, and lists what the service answers differently today.
- `pytest_plugin` gives tests sessions that replay, and collects notebooks as tests.
"""
