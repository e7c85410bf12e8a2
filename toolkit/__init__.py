"""Service access toolkit."""
