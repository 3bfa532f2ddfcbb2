"""ServeGen's aggregates: a service's rates by windows, several days long.

A row holds from its time until the next. A window whose rate is 0 is a gap of the source and not a pause of the
service (162 clients do not all fall silent), so it is no sample: the metric fails there.
"""

from collections.abc import Iterator
from pathlib import Path

from sim.traces.delimited import delimited_rows
from sim.traces.tables import Row

COLUMNS = ("t_seconds", "requests_per_second", "active_clients", "mean_input_tokens", "mean_output_tokens")


def servegen_rows(path: Path) -> Iterator[Row]:
    """The windows, those without a rate as blanks."""
    for row in delimited_rows(path):
        try:
            is_gap = float(str(row.cells["requests_per_second"])) == 0
        except ValueError:
            is_gap = False  # told where numbers are read
        yield Row(row.where, {**row.cells, **dict.fromkeys(COLUMNS[1:], "")}) if is_gap else row
