"""The same bytes wherever and however it runs: hash seed, time zone, locale and working folder do not show."""

import os
import subprocess
import sys
from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"
SCALEPROOF = Path(sys.executable).parent / "scaleproof"


def output(tmp_path: Path, **environment: str) -> bytes:
    # As another version there is something to tell of: differences with their accounts.
    command = [
        SCALEPROOF,
        "conformance",
        VECTORS / "named.jsonl",
        "--kubernetes",
        "1.37",
        "--output",
        "json",
        "--show",
        "500",
    ]
    folder = tmp_path / environment["PYTHONHASHSEED"]
    folder.mkdir()
    result = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, timeout=60)
    assert result.returncode == 1, result.stderr
    return result.stdout


def test_the_same_bytes_under_another_hash_seed_time_zone_locale_and_folder(tmp_path):
    here = output(tmp_path, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    there = output(tmp_path, PYTHONHASHSEED="4242", TZ="Pacific/Kiritimati", LC_ALL="de_DE.UTF-8")
    assert here == there
    assert len(here) > 10_000
