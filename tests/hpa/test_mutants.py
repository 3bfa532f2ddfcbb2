"""One-line mutants of the model, kept as data: the carried vectors catch every one of them.

A mutant that nothing catches would mean that a mistake of that kind could slip in unseen.
"""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import first_difference
import pytest
import yaml

import adapter
import sim.hpa

HERE = Path(__file__).parent
VECTORS = [HERE / "vectors" / name for name in ("named.jsonl", "corners.jsonl", "public.jsonl.gz", "extra.jsonl.gz")]
MUTANTS = yaml.safe_load((HERE / "mutants.yaml").read_text())
MODEL = Path(sim.hpa.__file__).parent


def test_every_mutant_changes_exactly_one_line_that_there_is():
    assert len(MUTANTS) >= 40
    assert len({mutant["name"] for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        lines = (MODEL / mutant["file"]).read_text().splitlines()
        assert sum(line.strip() == mutant["old"] for line in lines) == 1, mutant["name"]
        assert mutant["old"] != mutant["new"]


def mutate(mutant: dict[str, str], folder: Path) -> Path:
    shutil.copytree(MODEL.parent, folder / "sim", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(adapter.__file__).parent, folder / "adapter", ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "sim" / "hpa" / mutant["file"]
    lines = file.read_text().splitlines()
    [index] = [index for index, line in enumerate(lines) if line.strip() == mutant["old"]]
    indent = lines[index][: len(lines[index]) - len(lines[index].lstrip())]
    lines[index] = indent + mutant["new"]
    file.write_text("\n".join(lines) + "\n")
    return folder


def check(mutant: dict[str, str], folder: Path) -> tuple[str, int, str]:
    command = [sys.executable, first_difference.__file__, *map(str, VECTORS)]
    environment = {"PYTHONPATH": str(mutate(mutant, folder)), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    return mutant["name"], result.returncode, result.stdout or result.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_mutant_is_caught_by_the_carried_vectors(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda mutant: check(mutant, tmp_path / mutant["name"].replace(" ", "-")), MUTANTS))
    for name, _, text in results:
        print(f"{name}: {text.strip() or 'survived'}")
        assert "Traceback" not in text, name
    assert [name for name, status, _ in results if status != 1] == []


@pytest.mark.slow
def test_the_model_itself_is_not_caught(tmp_path):
    unchanged = {"name": "none", "file": "reconcile.py", "old": MUTANTS[0]["old"], "new": MUTANTS[0]["old"]}
    assert check({**unchanged, "file": MUTANTS[0]["file"]}, tmp_path / "none")[1] == 0
