"""The document: data, style and script in one HTML file of at most 2 MB, which asks the network for nothing.

Style and script are named by their digests in the page's own Content-Security-Policy, and the data stand in a block
that no browser runs, so no name or message of a trace can become code. The parts that the adapter's page has too
(colours, plot) are its files, read as data.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path

from sim.faults import AnswerFault, ControllerRestart, Fault, ScaleEdit, ScaleFails
from sim.replay.summary import Summary
from sim.report.ghost import Ghost
from sim.report.points import MAX_KEPT, Collector, Point, Rank
from sim.scores import Scores

MAX_BYTES = 2_000_000
MAX_LISTED = 200
"""Rescales in the table: what one reads, and prints on a few pages."""


class ReportError(Exception):
    """The report cannot be written."""


def write_report(file: Path, html: str) -> None:
    """Write it; ReportError where that is impossible."""
    try:
        file.write_text(html, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{file}: {error.strerror or error}") from error


def report(summary: Summary, kept: Collector, faults: Sequence[Fault] = (), ghost: Ghost | None = None) -> str:
    """The page of one run, within 2 MB: what does not fit is left out by rank, and the page says what."""
    about = _about(summary, faults, ghost)
    points = kept.points
    for words, fitted in _attempts(points):
        said = _shown_words(kept, len(fitted), words)
        html = _page({**about, "shown": said, **_columns(fitted), "rescales": _rescales(points, kept.rescales)})
        if len(html.encode()) <= MAX_BYTES:
            return html
    raise ReportError("the texts of the run alone are more than 2 MB")


def _attempts(points: list[Point]) -> Iterator[tuple[str, list[Point]]]:
    """What is kept with which words, less at each step: texts first, then points, those that matter least first."""
    changes = "every rescale, every change of the reasons and of the baseline, and "
    yield changes, points
    bare = [replace(one, lines=()) if one.rank is Rank.EXTREME else one for one in points]
    yield f"(with the arithmetic of the first two) {changes}", bare
    told = [replace(one, lines=()) if one.rank is not Rank.RESCALE else one for one in points]
    yield f"(with the arithmetic of rescales) {changes}", told
    fewer = [one for one in told if one.rank is not Rank.CHANGE]
    yield "(with the arithmetic of rescales) every rescale, and ", fewer
    without = [replace(one, lines=()) for one in fewer]
    yield "(without arithmetic) every rescale, and ", without
    every = 2
    while len(without) // every > 100:
        yield f"(without arithmetic) one in {every} of every rescale and ", without[::every]
        every *= 2


def _shown_words(kept: Collector, shown: int, what: str) -> str:
    if shown == kept.syncs:
        how = what.partition(")")[0] + ")" if what.startswith("(") else ""
        return f"All {kept.syncs} syncs are shown {how}".rstrip() + "."
    words = f"{shown} of {kept.syncs} syncs are shown: {what}the least and most of signal, U, proposal and ready pods"
    words += f" in each stretch of {kept.stretch} syncs. Scores count every sync."
    left = kept.left_out
    return f"{words} {left} beyond the first {MAX_KEPT} of a kind are left out." if left else words


def _about(summary: Summary, faults: Sequence[Fault], ghost: Ghost | None) -> dict[str, object]:
    run, data = summary.run, summary.as_data()
    data.pop("scores")
    period = run.parameters.sync + run.parameters.hpa_latency
    return {
        "summary": data,
        "period": period,
        "metrics": [one.name for one in run.hpa.metrics],
        "faults": [_fault(one, period) for one in faults],
        "baseline": None if ghost is None else ghost.name,
        "scores": flat(summary.scores),
        "baseline_scores": None if ghost is None or ghost.scores is None else flat(ghost.scores),
    }


def flat(scores: Scores) -> dict[str, object]:
    """The scores without nesting: those of the fixed fleets under fixed_at_peak.replicas and so on."""
    found: dict[str, object] = {}
    for name, value in scores.as_data().items():
        if name == "provisioning" and isinstance(value, dict):
            found.update(value)
        elif isinstance(value, dict):
            inner = {key: one for key, one in value.items() if not isinstance(one, dict)}
            inner.update(value.get("provisioning") or {})
            found.update({f"{name}.{key}": _number(one) for key, one in inner.items()})
        else:
            found[name] = value
    return found


def _fault(fault: Fault, period: float) -> dict[str, object]:
    seconds = getattr(fault, "seconds", 0.0)
    match fault:
        case AnswerFault():
            words = f"{fault.kind} of {', '.join(sorted(fault.inputs)) or 'every input'}"
            words += f", {fault.delay:g} s late" if fault.delay != inf else ""
        case ControllerRestart():
            words = "controller-restart"
        case ScaleEdit():
            words = f"scale-edit to {fault.replicas}"
        case ScaleFails():
            words = "scale-unwritable" if fault.is_write else "scale-unreadable"
        case _:
            words = {"AdapterRestart": "adapter-restart", "UnreadyPods": "unready-pods"}[type(fault).__name__]
    return {"from": fault.at, "to": fault.at + (seconds or period / 4), "words": words, "seconds": seconds}


def _columns(points: list[Point]) -> dict[str, object]:
    """Column by column; texts once each, by their number."""
    names = list(dict.fromkeys(name for point in points for name in point.columns))
    texts: dict[str, int] = {}
    numbered = [[texts.setdefault(line, len(texts)) for line in point.lines] for point in points]
    reasons = [[texts.setdefault(line, len(texts)) for line in point.reasons] for point in points]
    columns = {name: [_number(point.columns.get(name)) for point in points] for name in names}
    return {
        "t": [point.t for point in points],
        "kinds": [point.kind for point in points],
        "columns": columns,
        "lines": numbered,
        "reasons": reasons,
        "texts": list(texts),
    }


def _rescales(points: list[Point], total: int) -> dict[str, object]:
    found = [one for one in points if one.change][:MAX_LISTED]
    rows = [[one.t, one.change, ", ".join(one.reasons)] for one in found]
    return {"total": total, "rows": rows}


def _number(value: object) -> object:
    """Six digits: what a screen tells apart; JSON has no infinity."""
    if not isinstance(value, float):
        return value
    if not isfinite(value):
        return None
    return int(value) if value == int(value) else float(f"{value:.6g}")


def _page(data: dict[str, object]) -> str:
    style = "\n".join([_shared("colours.css"), _own("report.css")])
    script = "\n".join([_shared("plot.js"), _own("report.js")])
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "script": script, "data": _escaped(data)}
    html = _own("report.html")
    # In one pass: a text of the data that looks like a place to fill is never filled.
    before, *rest = html.split("/*{")
    return before + "".join(parts[name] + after for name, _, after in (one.partition("}*/") for one in rest))


def _escaped(data: dict[str, object]) -> str:
    """JSON in which nothing can end the block that it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _shared(name: str) -> str:
    return (files("adapter") / "pages" / name).read_text(encoding="utf-8")


def _own(name: str) -> str:
    return (files("sim.report") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
