"""The cassettes of a project: lists and contents (`facts`), checks for problems (`checking`), comparison of two
(`comparing`), and rewriting: scrubbing them again, or dropping interactions (`rewriting`).
"""
