"""Accounts as text for a terminal: the sentence first, then the numbers it stands on.

Takes the plain data of an explanation and gives lines. Times are UTC, ages are counted by the adapter's own clock. What
came from elsewhere is made printable, so that no message can move the cursor of a terminal.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from adapter.core.quantity import parse_milli
from adapter.core.units import show_duration

Account = Mapping[str, Any]


def account_lines(account: Account, now: float) -> Iterator[str]:
    """Everything about one signal."""
    yield headline(account)
    yield ""
    why = account["why"]
    yield from _table("", [*_numbers(account, now)])
    if why is not None:
        yield from _table("terms", [_term(one) for one in why["terms"]])
        yield from _table("inputs", [_input(one, now) for one in why["inputs"]])
        yield from _table("guards", [("holds" if one["is_holding"] else "free", one["text"]) for one in why["guards"]])
        if why["diagnosis"]:
            helps = "more replicas help" if why["diagnosis"]["replicas_help"] else "more replicas do not help"
            yield from _table("diagnosis", [(why["diagnosis"]["name"], f"{why['diagnosis']['about']} ({helps})")])
        yield from _table("steps", [(one,) for one in why["steps"]])
        yield from _table("notes", [(one,) for one in why["notes"]])
    yield from _table("last changes (UTC)", [_change(one) for one in account["changes"]])


def headline(account: Account) -> str:
    """Who and what, in one line."""
    labels = ", ".join(f"{name}={value}" for name, value in account["labels"].items())
    name = f"{account['namespace']}/{account['policy']}" + (f" {{{labels}}}" if labels else "")
    return printable(f"{name}: {account['headline']}")


def _numbers(account: Account, now: float) -> Iterator[Sequence[str]]:
    why = account["why"]
    metric = f"metric {account['metric']}, published as {account['published_as']}"
    if account["value"] is None:
        yield "value", f"none: {account['reason']}", metric
    else:
        yield "value", f"{parse_milli(account['value']) / 1000:g}", metric
    if why is not None:
        down = "∞" if why["down"] is None else _number(why["down"])
        yield "demand", f"U {_number(why['up'])}  D {down}", "U at least needed, D at most justified"
        ready = "" if why["ready"] is None else f"{why['ready']} ready"
        yield "replicas", f"N {_number(why['n'])}", ready
    if account["t"] is not None:
        sample = "" if account["as_of"] is None else f"oldest sample {_age(now, account['as_of'])} old"
        ages = [f"{_age(now, account['t'])} ago", *filter(None, [sample])]
        yield "evaluated", f"{_clock(account['t'])}Z", ", ".join(ages)


def _term(term: Account) -> Sequence[str]:
    down = "∞" if term["down"] is None else _number(term["down"])
    return term["name"], term["kind"], f"U {_number(term['up'])}", f"D {down}", term["text"]


def _input(one: Account, now: float) -> Sequence[str]:
    problem = f"{one['reason']}: {one['message']}" if one["reason"] else one["message"]
    if one["total"] is None:
        return one["name"], "–", "", "", "", problem
    spread = f"{_amount(one['smallest'], one['unit'])} – {_amount(one['largest'], one['unit'])}"
    pods = f"{one['pods']} pod{'' if one['pods'] == 1 else 's'}"
    return one["name"], _amount(one["total"], one["unit"]), pods, spread, f"{_age(now, one['as_of'])} old", problem


def _change(change: Account) -> Sequence[str]:
    before, after = ("no value" if change[key] is None else str(change[key]) for key in ("before", "after"))
    if change["first"]:
        words = f"first seen: {after}"
    else:
        words = f"still {after}" if before == after else f"{before} → {after}"
    return _clock(change["t"]), words, change["decided_by"]


def _table(title: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns as wide as they need to be; the last may be of any length."""
    if not rows:
        return
    if title:
        yield ""
        yield title
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in cells if len(row) > place) for place in range(max(map(len, cells)))]
    indent = "  " if title else ""
    for row in cells:
        yield (indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))).rstrip()


def printable(text: str) -> str:
    """The text with every character that is none to print replaced, escape sequences of terminals among them."""
    return "".join(one if one.isprintable() else "�" for one in text)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def _amount(value: float, unit: str) -> str:
    match unit:
        case "bytes":
            return f"{value / 2**30:.6g} GiB"
        case "seconds":
            return f"{value:.6g} s"
        case "per_second":
            return f"{value:.6g}/s"
        case "celsius":
            return f"{value:.6g} °C"
        case _:
            return f"{value:.6g}"


def _age(now: float, time: float) -> str:
    return show_duration(max(0, round(now - time)))


def _clock(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S")
