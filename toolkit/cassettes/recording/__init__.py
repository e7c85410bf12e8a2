"""Recording to a cassette file, so that every completed interaction survives and no secret is written.

`recorder` is the only way to the disk. For each interaction it takes these steps: scrub and encode it, check the
encoded bytes for known secrets, acquire the file for this process (`writer_lock`), make the file appendable
(`repair`), and append the bytes in a single write (`appending`). When a secret becomes known later, `repair` checks
what was already written, and `journal` remembers the secret until that is done. `finishing` ends recordings in
notebooks, which never call close(): after each cell, and at interpreter exit. After a kill, `recovery` does at the next
opening what was still to be done.
"""
