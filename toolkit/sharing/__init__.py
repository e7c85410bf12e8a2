"""Share recordings and notebooks: make copies for others, and replay recordings in tests.

- `saved_secrets` looks in files for secrets, including the secrets of the saved credentials.
- `publish` makes a copy of a notebook to share: `copying` replaces values in the recordings that the notebook plays and
  in its text and code, and then searches the result for them; `page` makes an HTML page that needs no Jupyter.
- `drift` repeats recorded GET and HEAD requests live, and lists how the responses differ today.
- `pytest_plugin` provides replaying sessions to tests, and collects notebooks as tests.
"""
