"""Where the service keeps what it must not lose: SQLite in a file, or PostgreSQL."""
