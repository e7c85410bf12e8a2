"""Access tokens: request one at a time (`single_flight`), decide when to renew it, and store it (`token`)."""
