"""The cassettes of a project: what is in them, whether they are clean and complete, and what to drop.

- `reading`: opens a cassette as it is, without repairing it
- `comparing`: what changed from one recording of a story to the next, in bodies by their shape
- `frames`: all of this as DataFrames
"""
