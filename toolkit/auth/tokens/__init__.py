"""Access tokens: one request at a time (`single_flight`); the value, when it is renewed, and its store (`token`)."""
