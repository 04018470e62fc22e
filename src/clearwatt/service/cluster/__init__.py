"""Nodes of a cluster that share a PostgreSQL database: web nodes answer, learner nodes learn."""
