"""The log: one line an event, repeats left out and counted, nothing forged by what metrics say."""

import json
import logging
from typing import Any

import pytest
import structlog

from adapter import logs
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, InputWhy, NoSignal, Signal, Why
from adapter.logs import Repeats, configure_logs
from adapter.signal_log import SignalLog

WHY = Why(
    t=60.0,
    instant=42.0,
    inputs=(
        InputWhy("load", "count", 2, 140.0, 60.0, 80.0, 40.0, None, ""),
        InputWhy("gpu", "ratio", 0, None, None, None, None, "stale", "gpu: newest sample is 90 s old"),
    ),
    terms=(),
    up=14.0,
    down=14.0,
    n=12.0,
    ready=11,
    decided_by="term q: U 14, above N 12",
    steps=(),
)


@pytest.fixture(autouse=True)
def _as_before() -> Any:
    yield
    structlog.reset_defaults()
    logging.basicConfig(handlers=[], force=True)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def group(outcome: Signal | NoSignal, **labels: str) -> GroupSignal:
    return GroupSignal(labels, outcome)


def missing(reason: Reason) -> NoSignal:
    return NoSignal(Missing(reason, "in words"), WHY)


def test_a_signal_has_one_line_for_each_change_of_its_state_with_its_inputs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("info", "json")
    log = SignalLog()
    signal, empty = Signal(14_000, 40.0, WHY), missing(Reason.EMPTY)
    for t, outcome in enumerate([signal, signal, empty, empty, missing(Reason.STALE)]):
        log.evaluated(("prod", "chat"), float(t), [group(outcome)], 0.1)
    first, second, third = lines(capsys)
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "level": "info",
        "event": "signal",
        "policy": "prod/chat",
        "t": 0.0,
        "value": "14",
        "decided_by": "term q: U 14, above N 12",
        "input_load": "140 of 2 pods",
        "input_gpu": "stale",
        "n": "12",
        "ready": "11",
    }
    assert (second["level"], second["event"], second["reason"], second["t"]) == ("warning", "no-signal", "empty", 2.0)
    assert (third["reason"], third["t"]) == ("stale", 4.0)


def test_a_fleet_that_changes_at_once_has_ten_lines_and_one_for_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("info", "json")
    fleet = [group(missing(Reason.UPSTREAM_ERROR), model=f"m{number}") for number in range(10_000)]
    SignalLog().evaluated(("prod", "fleet"), 60.0, fleet, 0.1)
    *told, rest = lines(capsys)
    assert [line["label_model"] for line in told] == [f"m{number}" for number in range(10)]
    assert (rest["event"], rest["state"], rest["groups"]) == ("more-groups-changed", "upstream-error", 9990)


def test_what_is_said_again_within_a_minute_is_left_out_and_counted() -> None:
    now, suppressed = [0.0], [0]

    def count() -> None:
        suppressed[0] += 1

    repeats = Repeats(count, lambda: now[0])

    def say(method: str = "warning", **event: object) -> dict[str, Any] | None:
        try:
            return dict(repeats(None, method, {"event": "no-signal", "policy": "a", **event}))
        except structlog.DropEvent:
            return None

    assert say(reason="empty", t=1, input_load="1") == {
        "event": "no-signal",
        "policy": "a",
        "reason": "empty",
        "t": 1,
        "input_load": "1",
    }
    assert say(reason="empty", t=2, input_load="2") is None
    assert say(reason="stale", t=3) is not None
    now[0] = 59.9
    assert say(reason="empty", t=60) is None
    now[0] = 60.0
    again = say(reason="empty", t=61)
    assert again is not None
    assert again["suppressed"] == 2
    assert suppressed[0] == 2
    # A broken file is told whenever it breaks; the traceback of a fault at every tick is not.
    assert [say("error", place="a.yaml:1:1") is None for _ in range(3)] == [False] * 3
    assert [say("error", exc_info=ValueError()) is None for _ in range(3)] == [False, True, True]


def test_what_is_remembered_of_repeats_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_REMEMBERED", 100)
    repeats = Repeats(lambda: None, lambda: 0.0)
    for number in range(1000):
        repeats(None, "info", {"event": "signal", "policy": str(number)})
    assert len(repeats._said) == 100


def test_label_values_forge_no_line_and_libraries_log_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("warning", "logfmt")
    log = structlog.get_logger()
    log.info("left-out")
    log.warning("no-signal", label_model="x\nlevel=error event=forged\r\x1b[2J")
    logging.getLogger("urllib3").warning("pool is %s", "full")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith(r'level=warning event=no-signal label_model="x\\nlevel=error event=forged\\r\\x1b[2J"')
    assert second.endswith('level=warning event=library logger=urllib3 reason="pool is full"')


def test_a_traceback_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    try:
        raise ValueError("wrong")
    except ValueError:
        structlog.get_logger().exception("evaluation-failed", policy="prod/a")
    (line,) = capsys.readouterr().err.splitlines()
    assert "Traceback" in line
    assert "ValueError: wrong" in line
