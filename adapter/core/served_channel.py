"""The channel "served" of a recording: what an adapter's own metrics told, scrape by scrape, as ticks and words.

A scrape tells the tick, the value where there is one, and else the reasons; all of one scrape have its time. A tick
that was scraped twice stands once; one that no scrape saw is not there.
"""

from collections.abc import Iterable, Mapping

from adapter.core.policy_values import joined
from adapter.core.quantity import write_milli
from adapter.core.recordings import SERVED, channel_line
from adapter.core.samples import Labels, Series


def served_lines(values: Iterable[Series], ticks: Iterable[Series], missing: Iterable[Series]) -> list[str]:
    """A line for each adapter: its ticks, and what it served at each."""
    words: dict[Labels, dict[float, str]] = {}
    for series in values:
        words.setdefault(_adapter(series), {}).update(
            {one.time: write_milli(round(one.value * 1000)) for one in series.samples}
        )
    for adapter, found in _reasons(missing).items():
        words.setdefault(adapter, {}).update({time: joined(reasons) for time, reasons in found.items()})
    lines = []
    for series in sorted(ticks, key=_adapter):
        adapter = _adapter(series)
        told = words.get(adapter, {})
        served: dict[float, str] = {}
        for one in series.samples:
            if one.time in told:
                served[one.value] = told[one.time]
        if served:
            lines.append(channel_line(SERVED, dict(adapter), served.keys(), served.values()))
    return lines


def _adapter(series: Series) -> Labels:
    """The labels of whoever was scraped."""
    return tuple(pair for pair in series.labels if pair[0] not in ("__name__", "reason"))


def _reasons(missing: Iterable[Series]) -> Mapping[Labels, Mapping[float, list[str]]]:
    found: dict[Labels, dict[float, list[str]]] = {}
    for series in missing:
        own = found.setdefault(_adapter(series), {})
        for one in series.samples:
            own.setdefault(one.time, []).append(series.label("reason"))
    return found
