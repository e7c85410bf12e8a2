"""Access tokens: request them, one request at a time (`single_flight`), and read and store them (`token`)."""
