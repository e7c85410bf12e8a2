"""What people use in a notebook: the panel, the cell magic and masking.

- `panel/`: a form to connect with, `tk.panel()`; its docstring is the guide to its modules.
- `magics`: `%load_ext toolkit` starts masking and adds `%%cassette`, which records or replays one cell.
- `front_end` tells what shows the notebook where that matters for widgets.
- `masking`: wraps the shell and its kernel so that they show no secret. `masked_values` replaces secrets in text,
  bytes and containers; `masked_streams` does so for stdout and stderr.

Nothing here is needed to call, record or replay: a script that imports none of these modules loads neither IPython
nor ipywidgets.
"""
