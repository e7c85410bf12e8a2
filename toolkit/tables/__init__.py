"""JSON answers, calls and tokens as pandas tables, and charts of them.

`tabulation` makes a table of an answer or of pages. `building` reads the JSON and spreads records over the columns of a
table that grows answer by answer: `rows` finds the records, `columns` says what names mean, infers types and converts
from one type to another, and `schema` gives the types that the user asks for. `comparison` tells what differs between
two tables, `display` shows tables and makes those of calls and tokens, and `charts` draws them.
"""
