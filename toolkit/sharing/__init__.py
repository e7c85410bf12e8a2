"""Share recordings and notebooks: make copies for others, and replay recordings in tests.

- `saved_secrets` searches files for secrets, including the secrets in saved credentials.
- `publish` makes a copy of a notebook to share. `copying` replaces values in the recordings that the notebook replays
  and in its text and code, and checks that none are left. `page` makes an HTML page that can be read without Jupyter.
- `drift` repeats recorded GET and HEAD requests live, and lists the differences in the responses.
- `pytest_plugin` provides tests with sessions that replay recordings, and collects notebooks as tests.
"""
