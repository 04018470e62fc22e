"""The report on a finished experiment: tables, findings, and a page with plots."""
