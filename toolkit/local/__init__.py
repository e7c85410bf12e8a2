"""Settings, files, folders, locks and progress: what the toolkit needs from this machine and shows on it.

- `folders` finds the project folder, and ignores settings files that another user may have planted.
- `user_folders` names the user's cache and configuration folders.
- `dotenv` lists the variables that a project sets in its `.env`, and tells them from the user's own.
- `settings` reads `toolkit.toml` and the TOOLKIT_* variables: addresses, header prefix, cassettes folder and the like.
  `variables` has their names, and says if the toolkit is offline.
- `files` writes files whole or not at all, and reads text that may hold secrets.
- `private_files` opens files of this user only, never through a link, and closes folders to others.
- `locks` gives one process at a time exclusive access to a file.
- `progress` shows how far a loop is, `tk.progress(items)`, with rich's bar.

Credentials are not read here: see `toolkit.auth.profiles`.
"""
