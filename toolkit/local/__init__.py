"""Settings, files, folders, locks and progress: what the toolkit needs from this machine and shows on it.

- `files` writes files whole or not at all, opens files of this user only, and reads text that may hold secrets.
- `folders` finds the project folder and the user's own folders, and tells the user's own files and variables from those
  that a project brings along.
- `settings` reads `toolkit.toml` and the TOOLKIT_* variables: addresses, header prefix, cassettes folder and the like.
- `locks` gives one process at a time exclusive access to a file.
- `progress` shows how far a loop is, `tk.progress(items)`, with rich's bar.

Credentials are not read here: see `toolkit.auth.profiles`.
"""
