"""Settings, files, folders, locks and progress: what the toolkit needs from this machine and shows on it.

- `files` writes files whole or not at all, opens files of this user only, and reads text that may hold secrets.
- `folders` finds the project folder, and ignores settings files that another user may have planted.
- `variables` has the names of the TOOLKIT_* variables, and tells the user's own from those in a project's `.env`.
- `user_folders` names the user's cache and configuration folders, and keeps random keys in the latter.
- `settings` reads `toolkit.toml` and the variables: addresses, header prefix, cassettes folder and the like.
- `locks` gives one process at a time exclusive access to a file.
- `progress` shows how far a loop is, `tk.progress(items)`, with rich's bar.

Credentials are not read here: see `toolkit.auth.profiles`.
"""
