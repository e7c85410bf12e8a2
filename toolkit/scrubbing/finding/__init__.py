"""Credentials in a message, recognized by their names or by their shape.

`find` goes through a message, notes what to replace in the rest of the recording, and replaces everything else in its
place. `walking` has the places of a message: URI, headers, cookies, forms, parts and text. `fields` reads names with
values in text of any format, even if the name is a value itself. `shapes` recognizes credentials without a name.
`toolkit.scrubbing.vocabulary` decides what counts.
"""
