"""Folding a zone's journal into models, deterministically; no process, no file, no clock."""
