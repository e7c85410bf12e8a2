"""Recording to a cassette file, so that every completed interaction survives and no known secret is written.

`recorder` is the only way to the disk. For each interaction it takes these steps: scrub and encode it, check the
encoded bytes for known secrets, acquire the file for this process (`writer_lock`), make the file appendable
(`repair`), and append the bytes in a single write (`appending`). What becomes known as a secret later is not searched
for in what was written before. `finishing` ends recordings in notebooks, which never call close(): after each cell, and
at interpreter exit.
"""
