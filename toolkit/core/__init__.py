"""The toolkit's vocabulary. It needs only the standard library, and every other room builds on it.

- `secret` masks secret text, and its register contains every secret that the process knows.
- `text` makes untrusted text safe to show, and formats counts, dates, cards and lists for display and for errors.
- `errors` defines all exceptions. Each says what happened, what to do, and which argument it is `about`. The module
  also checks the arguments of public functions.
- `document` defines the facts in the service document as constants: who may call which interface, at which address, and
  with which credentials. It also defines the placeholders for secrets.
- `tracebacks` keeps credentials out of tracebacks, which can show the local variables of every frame. It also finds the
  line of the user's code that a warning should point at, and the IPython shell.
- `addresses` checks a URL before credentials may be sent to it.
- `ledger` defines the clocks, and records when calls were made, how they were authorized, and where each response came
  from.
"""
