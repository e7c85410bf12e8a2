"""From JSON to a table, one step a module.

`json_body` reads it, `row_choice` finds the rows, `flatten` spreads them over columns, `columns` gives
each column its type, `asked_dtypes` the type its reader asked for. `arrow_reader` does the first three
at once for large bodies that it can read without changing their meaning.
"""
