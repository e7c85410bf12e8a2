"""JSON responses, calls and tokens as pandas tables, and charts of them.

`tabulation` makes a table from a response or from pages. `building` reads the JSON and puts records into the columns of
a table that grows response by response: `rows` finds the records, `columns` infers types from values and names and
converts between types, and `schema` provides the types that the user asks for. `comparison` finds the differences
between two tables, `display` shows tables and makes the tables of calls and tokens, and `charts` draws charts.
"""
