"""Formats in which providers issue keys and tokens, as their documentation and secret scanners describe them.

These modules are data, for review by the line: `clouds`, `code` (hosts of code, packages and deployments), `chat` (and
mail), `payments` (and shops), `services` (data, monitoring, language models and others) and `keys` (of standards). A
new format goes into the table of its family; `form` says what a row means. `samples` has the keys that documentation
shows, which are not secrets. `provider_formats` searches for all of them.
"""
