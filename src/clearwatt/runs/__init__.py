"""Runs that can be interrupted: their folder, their work and their progress."""
