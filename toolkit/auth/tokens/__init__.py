"""Access tokens: reading one from a reply, sharing one among everyone who has the credentials."""
