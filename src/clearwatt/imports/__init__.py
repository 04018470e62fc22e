"""Imports of exports: tables as utilities write them become readings of a data set.

``read_export`` reads files with a ``Recipe``; what the files leave open it returns as questions.
"""

from clearwatt.imports.export import Export, read_export
from clearwatt.imports.recipe import Recipe, read_recipe

__all__ = ["Export", "Recipe", "read_export", "read_recipe"]
