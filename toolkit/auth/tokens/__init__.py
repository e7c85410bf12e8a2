"""Access tokens: one request at a time (`single_flight`); the token, when to renew it, and its store (`token`)."""
