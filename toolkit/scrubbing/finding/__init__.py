"""Credentials in a message, recognized by their names or by their shape.

`find` goes through a message, replaces the credentials in it, and notes those that must also be replaced in the rest of
the recording. `walking` visits the places in a message that have values: URI, headers, cookies, forms, parts and text.
`fields` reads name-value pairs in text of any format, including `{"name": "token", "value": "…"}`. `shapes` recognizes
credentials without a name. `toolkit.scrubbing.vocabulary` decides what counts as a credential.
"""
