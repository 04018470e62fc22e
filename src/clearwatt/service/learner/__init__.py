"""The process that learns: its rounds, its workers, and the web process's side of it."""
