"""Record to a cassette file so that every completed interaction survives and no known secret is written.

Only `recorder` writes to the disk: it scrubs and encodes an interaction, checks the bytes for known secrets, claims the
file for this process (`writer_lock`), and appends in a single write.
"""
