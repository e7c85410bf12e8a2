"""What a secret looks like, and how it is kept out of recordings, logs and displays.

The way of a secret:

1. Known. `known` holds the secrets of credentials and token replies, each with its placeholder. `live` joins those of
   all sessions for whatever shows text: `logs`, and the masking in notebooks, which also needs `pieces`.
2. Found. `find_in_messages` and `find_in_text` find more secrets by the place where they stand, with the help of
   `credential_names`, `shapes`, `cookies` and `multipart`; `content_encodings` decompresses bodies first.
3. Replaced. `scrubber` replaces what is known in a request and its response, and applies the user's `rules`.
   `encoded_forms` describes the forms of a secret, and `prefilter` tells quickly which secrets a text may hold.
4. Checked. `leak_check` searches the bytes that are about to be written, and `archives` the compressed data in them.
   A hit means that nothing is written. `findings` does the same for existing files: `tk.scan`.

`messages` has the types of requests and responses that are passed around.
"""
