"""Reports: tables of text, plots, number formats and self-contained HTML pages."""
