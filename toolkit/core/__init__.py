"""The vocabulary of the toolkit. It needs only the standard library, and every other room builds on it.

- `document` states the service document as values: who may call which interface, where, and with which credentials,
  and the placeholders of secrets.
- `errors` has all exceptions, as a tree. Each says what happened and what to do, and what it is `about`.
- `secret` masks secret text; `register` holds every secret that the process knows. `escaping` makes foreign text
  safe to show.
- `tracebacks` keeps credentials out of tracebacks, which can show the local variables of every frame.
- `addresses` checks a URL before credentials may be sent to it.
- `clock` and `ledger` hold time and history: when calls were made, and how they were authorized.
- `json_lines` finds the lines of values in JSON; `workflow_commands` writes annotations for GitHub Actions.
- `shells` writes variables and words as a shell, a `.env` file or TOML takes them.
- `installation` and `programs` say what to type to install an extra and to start the toolkit.
- `html` and `words` help objects describe themselves in notebooks and terminals; `user_code` warns at the user's
  line, and finds the IPython shell.
"""
