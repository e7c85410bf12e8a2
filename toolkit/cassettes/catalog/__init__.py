"""The cassettes of a project: which there are (`facts`), what is in them (`showing`) and wrong with them (`checking`),
what changed between two (`comparing`), and rewriting them: scrubbed again, or without some interactions (`rewriting`).
"""
