"""Secrets: how they are found, and kept out of recordings, logs and displays.

1. Secrets become known. The register in `core` holds those of all credentials and token replies of the process.
   `known` gives each its placeholder: one set of placeholders for each recording, and one for `logs` (loaded by
   `log_filter` with the first record) and the masking in notebooks (with `pieces`).
2. More secrets are found. `finding` walks over the places of a message, such as headers, forms, JSON and settings (a
   new format of messages goes there). `vocabulary` says which names mean a credential: by their words, in the tables
   of `name_words`, or as a whole, in those of `vendor_names` (a new vendor's name and a new exception go there).
   `strength` grades a value: what a machine made, or what people write; `provider_formats` searches for the formats
   of providers' keys, which `formats` lists (a new format goes there). `grading` asks both: a strong value under such
   a name is a secret everywhere, a weak one is replaced in its place in requests. `content_encodings` decompresses
   bodies first.
3. Secrets are replaced. `scrubber` replaces what is known in a request and its response (`header_scrubbing` in their
   headers), makes addresses symbolic (`symbolic_addresses`), and applies the user's `rules`. `spellings` finds a secret
   however it is written: `codes` says what it looks like in base64, hex and the like (a new code goes there), `escapes`
   undoes what URLs, JSON, HTML and mail put around it (a new escape goes there), `window_index` makes it quick, and
   `splicing` puts the placeholder in its place. `pem` and `short_secrets` are for private keys and for secrets of a few
   characters.
4. The result is checked. `gate` decodes the bytes that are about to be written, in every way, and looks for the plain
   secrets. If there is one, or the bytes cannot be checked, nothing is written. `scanning` opens existing
   files and what they hold (`tk.scan`), and `unknown_secrets` finds in them what a recorder would replace.

`messages` has the types of requests and responses that are passed around.
"""
