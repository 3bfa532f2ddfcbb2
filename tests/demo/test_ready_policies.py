"""The ready policies: what ships is free of errors and warnings."""

import json
import subprocess
import sys
from pathlib import Path

SCALEPROOF = Path(sys.executable).parent / "scaleproof"
POLICIES = Path(__file__).parents[2] / "policies"


def test_check_finds_nothing_wrong_with_them():
    done = subprocess.run([SCALEPROOF, "check", POLICIES, "--output", "json"], capture_output=True, timeout=60)
    assert json.loads(done.stdout) == {"problems": []}
    assert done.returncode == 0
