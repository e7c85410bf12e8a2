"""How sessions, tokens, cassettes, settings, findings and errors show themselves in a notebook.

The same object always shows the same bytes: nothing is relative to the present, and no path of this
machine is in it.
"""
