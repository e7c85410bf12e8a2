"""The cassette file: how interactions are written to it and read back.

`contents.read` recognizes who wrote a file and returns its interactions by number. In our own files it locates each
interaction without parsing; when one is first needed, `fast_items` reads the usual shape, and anything unusual goes to
`interactions.decode`. A file of stock vcrpy is parsed as a whole by `vcrpy_files`, which needs yaml and vcr.
"""
