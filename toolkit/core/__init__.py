"""The vocabulary of the toolkit. It needs only the standard library, and every other room builds on it.

- `secret` masks secret text, and its register contains every secret that the process knows.
- `text` makes foreign text safe to show, and formats counts, dates, cards and lists for displays and errors.
- `errors` has all exceptions. Each says what happened, what to do, and what argument it is `about`. The module also
  checks the arguments of public functions.
- `document` states the service document as values: who may call which interface, where, and with which credentials,
  and the placeholders of secrets.
- `tracebacks` keeps credentials out of tracebacks, which can show the local variables of every frame, and finds the
  user's code: the line that a warning points at, and the IPython shell.
- `addresses` checks a URL before credentials may be sent to it.
- `ledger` is about time and history: the clocks, when calls were made and how they were authorized, and where a
  response came from.
"""
