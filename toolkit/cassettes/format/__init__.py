"""The cassette file: how interactions are written to it and read back.

`interactions` is what is written, by `yaml_text`. `contents.read` recognizes who wrote a file and returns its
interactions by number. In our own files it locates each interaction without parsing, and reads the usual shape itself.
Anything unusual, and a file of stock vcrpy as a whole, needs a YAML parser.
"""
