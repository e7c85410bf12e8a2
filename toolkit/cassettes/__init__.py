"""Recording and replaying HTTP in vcrpy's format, with nothing secret in it."""
