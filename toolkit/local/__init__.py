"""Settings, files, folders, locks and progress bars on the local machine.

- `files` writes files atomically, opens files that must belong to this user, and reads text that may contain secrets.
- `folders` finds the project folder and the user's own folders, and distinguishes the user's own files and variables
  from those that a project provides.
- `settings` reads `toolkit.toml` and the TOOLKIT_* variables: addresses, header prefix, cassettes folder and the like.
- `locks` gives one process at a time exclusive access to a file.
- `progress` shows the progress of a loop, as in `tk.progress(items)`, with a rich progress bar.

Credentials are not read here: see `toolkit.auth.profiles`.
"""
