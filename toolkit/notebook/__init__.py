"""Tools for notebooks: the panel, the cell magic and masking.

- `panel`: `tk.panel()` and its widget, which connects and shows the session. The form (`panel_form`) is at the top, and
  the session (`panel_view`, with its .js and .css) is below it.
- `secret_input`: the form's fields, with their .js and .css; their text stays in the page. A secret goes from the page
  to the credentials in one binary message; everything visible is in traits, which are saved with the notebook.
- `connecting`: opens the session, tries it with one call, and describes what went wrong.
- `magics`: `%load_ext toolkit` starts masking and adds `%%cassette`, which records or replays one cell.
- `masking`: wraps the shell, its kernel and its streams so that they show no secrets.

Nothing here is needed to call, record or replay: scripts that do not import these modules do not load IPython or
ipywidgets.
"""
