"""Access tokens: the value, its renewal, its reply and its store (`token`), and one request at a time (`single_flight`)."""
