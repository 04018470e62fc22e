"""Applies a zone's journal to its models, deterministically."""
