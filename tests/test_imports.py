"""No module of the package imports itself by a detour, not even inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import clearwatt

ROOT = Path(clearwatt.__file__).parent

Graph = Mapping[str, frozenset[str]]


def modules(root: Path) -> dict[str, Path]:
    """Every module below a package's folder, by its dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of the package that a source names in an import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in names)


def import_graph(root: Path) -> Graph:
    """Each module and those it imports, including imports in functions and for type checking."""
    known = modules(root)
    return {
        name: frozenset(imported(ast.parse(path.read_text(encoding="utf-8")), known)) - {name}
        for name, path in known.items()
    }


def cycle(graph: Graph) -> list[str]:
    """One cycle of imports, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_cycle_of_imports():
    assert cycle(import_graph(ROOT)) == []


def test_a_cycle_that_an_import_in_a_function_closes_is_found(tmp_path):
    root = tmp_path / "pack"
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "inner" / "__init__.py").write_text("")
    (root / "a.py").write_text("from pack.inner import b\n")
    (root / "inner" / "b.py").write_text("def f():\n    from pack.a import g\n    return g\n")

    assert set(cycle(import_graph(root))) == {"pack.a", "pack.inner.b"}
