"""The cassette file: how interactions are written to it and read back.

`interactions` defines the fields, and `yaml_text` writes and reads the YAML. `contents.read` recognizes which program
wrote a file and returns its interactions by number. In our own files it locates each interaction without parsing, and
reads the usual layout itself. Anything unusual, and any stock vcrpy file, needs a YAML parser.
"""
