"""Secrets: how they are found, and kept out of recordings, logs and displays.

1. Secrets become known. The register in `core` has those of all credentials and token responses of the process, and
   what the user names. `known` gives each its placeholder: one set of placeholders for each recording, and one for
   `logs` (loaded by `log_filter` with the first record) and the masking in notebooks (with `pieces`). What messages
   name as credentials is known only for their recording.
2. More secrets are found. `finding` walks over the places of a message, such as headers, forms, JSON and settings (add
   a new format of messages there). `vocabulary` decides which names mean a credential, by their words or as a whole,
   with the tables in `names` (add vendors' names and exceptions there). `strength` grades a value as made by a machine,
   including the formats of providers' keys in `formats` (add a new format there), or as written by people. From both,
   `vocabulary` decides whether a value under a name is a credential to replace everywhere, only in its place, or not at
   all.
3. Secrets are replaced. `scrubber` replaces what is known in a request and its response, makes addresses symbolic
   (`symbolic_addresses`), and applies the user's `rules`. The search in `known` encodes each secret in every encoding
   once (`needles`; add a new encoding there), and finds all of them in one pass over the `normal_form` of a text
   (`searcher`). A text has `views`: without its `escapes` (add a new escape there), decoded, and decompressed
   (`compression`; add a new format there).
4. The result is checked. `known` runs the same search over the bytes that are about to be written, and refuses what
   could not be replaced. `scanning` opens existing files and expands what they contain (`tk.scan`).

`messages` has the types of requests and responses that are passed around.
"""
