"""Recording to a cassette file, so that every completed interaction survives and no known secret is written.

`recorder` is the only way to the disk: it scrubs and encodes an interaction, checks the bytes for known secrets,
claims the file for this process (`writer_lock`), and appends in a single write.
"""
