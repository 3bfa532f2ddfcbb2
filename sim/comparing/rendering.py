"""Rendering a comparison: text, markdown for a pull request or a step summary, and JSON."""

from collections.abc import Mapping, Sequence

from sim.comparing.comparison import Compared, inconclusive
from sim.comparing.revisions import Key

ROWS = (
    ("replica_hours", "replica-hours"),
    ("gpu_hours", "GPU-hours"),
    ("most_replicas", "replicas at most"),
    ("pod_starts", "pod starts"),
    ("rescales", "rescales"),
    ("flaps", "flaps"),
    ("longest_under_demand_seconds", "longest spell under demand, s"),
    ("seconds_to_reach_p95", "time to reach a step, p95, s"),
    ("theta_under", "under demand θ, %"),
    ("theta_over", "over demand θ, %"),
    ("syncs_without_metric", "syncs without a metric"),
    ("seconds_at_ceiling", "at maxReplicas, s"),
)

Changes = Mapping[str, Sequence[Key]]


def verdict(compared: Sequence[Compared]) -> str:
    """`worse` if a threshold is broken, else `inconclusive` if something could not be told, else `ok`."""
    judged = [one.holds for each in compared for one in each.judgements]
    if False in judged:
        return "worse"
    return "inconclusive" if None in judged or any(inconclusive(compared)) else "ok"


def as_data(changes: Changes, compared: Sequence[Compared], prices: float | None) -> dict[str, object]:
    """For machines."""
    return {
        "verdict": verdict(compared),
        "policies": {what: ["/".join(key) for key in keys] for what, keys in changes.items()},
        "inconclusive": list(inconclusive(compared)),
        "comparisons": [_data(one, prices) for one in compared],
    }


def _data(one: Compared, price: float | None) -> dict[str, object]:
    return {
        "policy": "/".join(one.key),
        "trace": one.trace,
        "base": None if one.base is None else dict(_priced(one.base.scores, price)),
        "candidate": None if one.candidate is None else dict(_priced(one.candidate.scores, price)),
        "differing_syncs": one.differing_syncs,
        "first_difference": None
        if one.first is None
        else {"t": one.first.t, "base": one.first.base, "candidate": one.first.candidate},
        "thresholds": [{"threshold": j.threshold, "holds": j.holds, "actual": j.actual} for j in one.judgements],
    }


def _priced(scores: Mapping[str, float], price: float | None) -> Mapping[str, float]:
    return scores if price is None else {**scores, "cost": scores["gpu_hours"] * price}


def table(one: Compared, price: float | None) -> list[tuple[str, str, str, str]]:
    """Rows of (score, base, candidate, difference); a score that neither side has is left out."""
    base = {} if one.base is None else _priced(one.base.scores, price)
    candidate = {} if one.candidate is None else _priced(one.candidate.scores, price)
    rows = [*ROWS, ("cost", "cost")] if price is not None else ROWS
    found = []
    for name, words in rows:
        before, after = base.get(name), candidate.get(name)
        if before is not None or after is not None:
            found.append((words, _number(before), _number(after), _difference(before, after)))
    return found


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _difference(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    change = after - before
    share = f" ({100 * change / before:+.1f} %)" if before and change else ""
    return f"{change:+.6g}{share}" if change else "="


def as_text(changes: Changes, compared: Sequence[Compared], price: float | None) -> str:
    """For a terminal."""
    lines = _changes(changes)
    for one in compared:
        lines += ["", f"{'/'.join(one.key)} on {one.trace}"]
        rows = [("", "base", "candidate", "difference"), *table(one, price)]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines += [
            f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip() for row in rows
        ]
        lines += [f"  {words}" for words in _decisions(one)]
        lines += [f"  {_mark(j.holds)} {j.threshold} | {j.actual}" for j in one.judgements]
    lines += [f"inconclusive: {words}" for words in inconclusive(compared)]
    return "\n".join([*lines, "", f"verdict: {verdict(compared)}"])


def as_markdown(changes: Changes, compared: Sequence[Compared], price: float | None) -> str:
    """For a pull request or `$GITHUB_STEP_SUMMARY`."""
    lines = [f"### scaleproof diff: {verdict(compared)}", "", *(f"- {_escaped(line)}" for line in _changes(changes))]
    for one in compared:
        lines += ["", f"**{_escaped('/'.join(one.key))}** on `{one.trace}`", ""]
        lines += ["| | base | candidate | difference |", "|---|---:|---:|---:|"]
        lines += [f"| {' | '.join(map(_escaped, row))} |" for row in table(one, price)]
        lines += ["", *(f"- {_escaped(words)}" for words in _decisions(one))]
        lines += [f"- {_mark(j.holds)} `{j.threshold}`: {_escaped(j.actual)}" for j in one.judgements]
    cannot = list(inconclusive(compared))
    if cannot:
        lines += ["", "Inconclusive:", "", *(f"- {_escaped(words)}" for words in cannot)]
    return "\n".join(lines) + "\n"


def _changes(changes: Changes) -> list[str]:
    words = [f"{what}: {', '.join('/'.join(key) for key in keys)}" for what, keys in changes.items() if keys]
    return words or ["no policy, preset or HPA changed"]


def _decisions(one: Compared) -> list[str]:
    if one.base is None or one.candidate is None:
        return ["only the candidate has this policy" if one.base is None else "only the base has this policy"]
    if one.first is None:
        return ["every decision is the same"]
    first = one.first
    return [
        f"decisions differ at {one.differing_syncs} of {len(one.base.steps)} syncs, first at {first.t:g} s:"
        f" base {first.base}, candidate {first.candidate}"
    ]


def _mark(holds: bool | None) -> str:
    return {True: "ok  ", False: "FAIL", None: "????"}[holds]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
