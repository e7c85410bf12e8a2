"""What people use in a notebook: the panel, the cell magic and masking.

- `panel`: `tk.panel()` and its widget, which connects and shows the session. Above is the form (`panel_form`), below
  the session (`panel_view`, with its .js and .css).
- `secret_input`: the fields of the form, a part of the page that keeps their text to itself (.js, .css). A secret goes
  from the page to the credentials in one binary message; everything visible is kept in traits, which are saved.
- `connecting`: opens the session, tries it with one call, and puts into words what went wrong.
- `magics`: `%load_ext toolkit` starts masking and adds `%%cassette`, which records or replays one cell.
- `masking`: wraps the shell, its kernel and its streams so that they show no secret.

Nothing here is needed to call, record or replay: a script that imports none of these modules loads neither IPython
nor ipywidgets.
"""
