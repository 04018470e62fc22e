"""What a finished experiment says: the paper's two tables, its findings, and a page of pictures."""
