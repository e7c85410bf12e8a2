"""The cassette file: how interactions are written to it and read back.

A file is read in this order: `contents.read` recognizes who wrote it and returns its interactions by number. In our
own files `layout` locates each interaction, and in those of stock vcrpy `vcrpy_layout` does, both without parsing.
When an interaction is first needed, `fast_items` reads the usual shape; anything unusual goes to a YAML parser:
`interactions.decode` for ours, `vcrpy_files` for vcrpy's. A file of any other layout is parsed as a whole.

- `interactions`: what an interaction is, and the format of one item; start here
- `yaml_text`: safe and exact YAML
- `layout`, `vcrpy_layout`, `fast_items`, `fast_dump`: measured optimizations; nothing else depends on their internals
- `vcrpy_files`: vcrpy's own loader, imported late because it needs yaml and vcr
- `vcrpy_fields`: what vcrpy's clients store in an interaction, in all its shapes
- `other_programs`: recordings of Ruby's VCR, R's vcr, betamax, pydantic-ai and go-vcr, refused by name
- `decompression`: whether a body can be decompressed, and to how much
"""
