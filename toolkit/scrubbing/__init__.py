"""Secrets: how they are found, and kept out of recordings, logs and displays.

1. Secrets become known. The register in `core` holds those of all credentials and token replies of the process, and
   what the user names. `known` gives each its placeholder: one set of placeholders for each recording, and one for
   `logs` (loaded by `log_filter` with the first record) and the masking in notebooks (with `pieces`). What messages
   name as credentials belongs to their recording.
2. More secrets are found. `finding` walks over the places of a message, such as headers, forms, JSON and settings (a
   new format of messages goes there). `vocabulary` says which names mean a credential: by their words or as a
   whole, in the tables of `names` (a new vendor's name and a new exception go there). `strength` grades a value: what a
   machine made, including the formats of providers' keys in `formats` (a new format goes there), or what people write.
   By both, `vocabulary` decides what a value under a name is: a credential to replace everywhere, in its place
   only, or none.
3. Secrets are replaced. `scrubber` replaces what is known in a request and its response, makes addresses symbolic
   (`symbolic_addresses`), and applies the user's `rules`. The search in `known` writes each secret in every code once
   (`needles`, a new code goes there), and finds all of them in one pass over the `normal_form` of a text (`searcher`).
   A text has `views`: behind `escapes` (a new escape goes there), in a code, and compressed (`compression`, a new
   format goes there).
4. The result is checked. `known` runs the same search over the bytes that are about to be written, and refuses what
   could not be replaced. `scanning` opens existing files and what they hold (`tk.scan`).

`messages` has the types of requests and responses that are passed around.
"""
