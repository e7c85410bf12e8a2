"""The cassettes of a project: which there are and what is in them (`facts`), what is wrong with them (`checking`), what
changed between two (`comparing`), and rewriting them: scrubbed again, or without some interactions (`rewriting`).
"""
