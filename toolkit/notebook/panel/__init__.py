"""The panel: choose an environment, credentials and a mode, connect, and go on with `panel.session`.

When Connect is pressed, `connecting` reads the form, asks the page for typed secrets, and has `connection` open the
session and try the credentials with one call. Then `display` turns facts of the session into HTML, or `problems` turns
an error into words beside the control that it is about.

- `widget`: `tk.panel()` and the widget itself, with status, facts and the token's countdown (session_view.js).
- `choices`: what the form offers, and how typed text becomes credentials; plain functions.
- `controls`: the form. `dropdowns` has its controls for cassettes and credentials.
- `secret_input` (.py, .js): fields whose text stays in the page until the kernel asks for it.
- `panel.css`: the look of all of these.

Everything visible is kept in traits, which are saved with the notebook. A secret never is: it goes from the page to
the credentials in one binary message.
"""
