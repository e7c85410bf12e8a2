"""The panel: choose an environment, credentials and a mode, connect, and go on with `panel.session`.

`tk.panel()` makes the widget (`widget`), which holds a form and, below it, the session.

1. The form (`controls`) has a slot (`slots`) for each control: environment, mode, cassette (`cassette_control`) and
   credentials (`credentials_control`). The choice in one decides what the others offer (`choices`).
2. Before anything is typed, `sending` looks where it would go: an address may be missing, or a destination new. Only
   then come the fields (`fields`), a part of the page that keeps their text to itself (`secret_input`: .py, .js, .css).
3. When Connect is pressed, `connecting` asks the page for typed texts, makes credentials of them, and has `connection`
   open the session and try it with one call. A front end without fields is asked below the cell instead (`asking`).
4. `display` turns facts of the session into HTML, with a countdown of its token in the page (session_view.js), or
   `problems` turns an error into words beside the control that it is about. `panel.css` is the look of all of these.

A kernel may handle the messages of a page in several threads; `turns` has the panel do one thing at a time.

While a practice service runs in the kernel, its credentials are offered too, and everything says practice.

Everything visible is kept in traits, which are saved with the notebook. A secret never is: it goes from the page to
the credentials in one binary message.
"""
