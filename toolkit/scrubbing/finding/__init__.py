"""Credentials that a message names, by the names beside them or by their shape.

`find` goes over a message, notes what is replaced in the rest of the recording, and replaces the rest where it stands.
`walking` has the places of a message: URI, headers, cookies, forms, parts and text. `fields` reads names with values in
text of any format, even where the name is a value itself. `shapes` recognizes credentials without a name.
`toolkit.scrubbing.vocabulary` decides what counts.
"""
