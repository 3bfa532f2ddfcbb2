"""Runs vectors through whatever `sim.hpa` is on the path and ends at the first difference: status 1, or 0 without one.

For mutants: they are run in a process of their own, on a copy of the package with one line changed.
"""

import gzip
import json
import sys
from pathlib import Path

from sim.hpa.conformance import Report, compare_vector
from sim.hpa.versions import find_version


def main(files: list[str]) -> int:
    version = find_version("1.36")
    for name in files:
        data = Path(name).read_bytes()
        for line in (gzip.decompress(data) if name.endswith(".gz") else data).splitlines():
            vector, report = json.loads(line), Report()
            compare_vector(vector, version, report)
            if report.mismatches:
                print(f"{vector['scenario']['name']} step {report.differences[0].step}: {report.differences[0].field}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
