"""Access tokens: request them, one request at a time (`single_flight`), and renew and store them (`token`)."""
