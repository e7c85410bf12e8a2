"""The cassettes of a project: what is in them, whether they are clean and complete, and what to drop."""
