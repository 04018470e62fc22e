"""Every path and name on the pages about the sources exists."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "clearwatt"
PAGE, PAPER = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("architecture.md", "paper.md")
)


def paths(page: str) -> set[str]:
    """Everything on a page that is written like a file or folder of the package."""
    return set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", page))


def names(page: str) -> set[tuple[str, str]]:
    """Files with the names that follow them in parentheses."""
    named = re.findall(r"`([a-z_/]+\.py)`\s+\(((?:`[A-Za-z_.]+`(?:,\s+)?)+)\)", page)
    return {(path, name) for path, group in named for name in re.findall(r"`([^`]+)`", group)}


def definitions(path: Path) -> set[str]:
    """Functions, classes, their methods and constants of a module, as dotted names."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            methods = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
            found |= {node.name, *(f"{node.name}.{method}" for method in methods)}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("page", [PAGE, PAPER], ids=["architecture", "paper"])
def test_every_path_exists(page):
    assert len(paths(page)) > 20
    assert [path for path in sorted(paths(page)) if not (SOURCES / path).exists()] == []


@pytest.mark.parametrize("page", [PAGE, PAPER], ids=["architecture", "paper"])
def test_every_name_is_defined_in_its_file(page):
    assert len(names(page)) > 5
    missing = [each for each in names(page) if each[1] not in definitions(SOURCES / each[0])]
    assert sorted(missing) == []


def test_every_top_level_package_and_module_is_on_the_map():
    top = {f"{path.stem}/" if path.is_dir() else path.name for path in SOURCES.iterdir()}
    wanted = {name for name in top if not name.startswith("__") and name != "py.typed"}
    assert wanted - set(re.findall(r"`([a-z_]+(?:/|\.py))`", PAGE)) == set()


def test_the_map_is_in_the_order_of_the_import_contract():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == ["clearwatt"])
    rank = {name: at for at, layer in enumerate(layers) for name in layer.split(" | ")}
    table = PAGE.split("## The map")[1].split("###")[0]
    shown = [rank[name] for name in re.findall(r"^\| `([a-z_]+)(?:/|\.py)`", table, re.MULTILINE)]
    assert shown == sorted(shown)
