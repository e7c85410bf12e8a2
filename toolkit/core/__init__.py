"""The vocabulary of the toolkit. It needs only the standard library, and every other room builds on it.

- `secret` masks secret text, and its register contains every secret that the process knows.
- `text` makes untrusted text safe to show, and formats counts, dates, cards and lists for display and for errors.
- `errors` has all exceptions. Each says what happened, what to do, and which argument it is `about`. The module also
  checks the arguments of public functions.
- `document` has the facts of the service document as constants: who may call which interface, where, and with which
  credentials. It also has the placeholders of secrets.
- `tracebacks` keeps credentials out of tracebacks, which can show the local variables of every frame. It also finds the
  line of the user's code that a warning points at, and the IPython shell.
- `addresses` checks a URL before credentials may be sent to it.
- `ledger` has the clocks, and keeps track of when calls were made, how they were authorized, and where a response came
  from.
"""
