"""The house's own limits: sizes of files and functions, empty packages, docs that name what exists."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from adapter.bundled import load_presets
from adapter.core.reasons import Reason

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("adapter/**/*.py"), *ROOT.glob("sim/**/*.py")])
MAX_FILE_LINES, MAX_FUNCTION_LINES = 400, 70


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{path}:{node.lineno} {node.name} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_for_and_a_package_says_no_more(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), path
    if path.name == "__init__.py":
        assert len(tree.body) == 1, f"{path} holds more than its docstring"


def test_the_pages_on_policies_and_presets_name_every_preset_and_reason() -> None:
    page = (ROOT / "docs/policy.md").read_text() + (ROOT / "docs/presets.md").read_text()
    inputs, replicas = load_presets().names()
    missing = [name for name in (*inputs, *replicas, *Reason) if f"`{name}" not in page and f"{name}" not in page]
    assert missing == []


def test_every_version_is_pinned_and_no_download_address_is_written_down() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line) for line in lines)
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    wanted = (ROOT / "requirements-dev.txt").read_text().splitlines()
    assert [name for name in wanted if name and not name.startswith("#") and name.lower() not in pinned] == []


def test_the_contract_of_the_simulator_names_every_module_of_the_shell() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (ours,) = [one for one in contracts if one.get("source_modules") == ["sim"]]
    shell = {f"adapter.{path.stem}" for path in ROOT.glob("adapter/*.py") if not path.stem.startswith("__")}
    assert shell - set(ours["forbidden_modules"]) == set()
