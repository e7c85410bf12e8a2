"""A project's cassettes: list them and show their contents (`facts`), check them for problems (`checking`), compare two
of them (`comparing`), and scrub them again or drop interactions (`rewriting`).
"""
