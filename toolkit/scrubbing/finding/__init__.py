"""Credentials found in a message, by the names beside them or by their shape.

`walking` goes through the places of a message: URI, headers, forms, parts (with `parts`) and text. `fields` reads the
fields in text of any format. `shapes` recognizes credentials without a name and a sign: by themselves, or by what is
around them, with `command_lines`, `logins`, `calls` of code, `loose_fields` and `columns`; `shaped` is what it yields.
Two walkers use them: `learning` notes strong values, which are replaced in the rest of the recording, and `in_place`
replaces what stands under a credential's name. `find` does both for a message.
"""
