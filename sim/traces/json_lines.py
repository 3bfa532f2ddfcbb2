"""JSON Lines: an object a line; its keys are the columns, null is a blank."""

import json
from collections.abc import Iterator
from pathlib import Path

from sim.traces.files import open_text
from sim.traces.options import refuse
from sim.traces.tables import Row

MAX_LINE_CHARACTERS = 1_000_000


def json_rows(path: Path) -> Iterator[Row]:
    """The objects of a file in order."""
    with open_text(path) as text:
        number = 0
        while line := text.readline(MAX_LINE_CHARACTERS + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MAX_LINE_CHARACTERS:
                fix = "a line is one object; write each row on a line of its own"
                raise refuse(where, f"the line has more than {MAX_LINE_CHARACTERS} characters", fix)
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise refuse(where, f"no JSON ({error})", "write one JSON object a line") from error
            if not isinstance(found, dict):
                raise refuse(where, "the line is no JSON object", 'write e.g. {"t_s": 0, "waiting": 12}')
            yield Row(where, found)
