"""Who is calling, what they may do, and how much of it."""
