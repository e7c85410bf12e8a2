"""Data of the benchmarks: forms of a secret, names of credentials, and hostile shapes."""
