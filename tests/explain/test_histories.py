"""What is remembered of each signal: bounded in points, changes, signals and time."""

from collections.abc import Iterable

import pytest
from policy_world import T, one, outcomes, policy, replicas, tick

from adapter.core.histories import MAX_CHANGES, MAX_POINTS, SPAN_SECONDS, Histories, SignalHistory
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, NoSignal

KEY = ("prod", "p")
PLAIN = """\
  memory: 1m
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs: {load: {query: load, unit: count, per: [pod]}}
  terms: {batch: {concurrency: load, per_replica: 10}}
  publish: {metric: q}
"""


def signal(load: float, n: int = 1) -> GroupSignal:
    """What a policy with N replicas publishes for a load: load ÷ 10 replicas."""
    loaded = policy(PLAIN)
    pods = [f"d-{number}" for number in range(n)]
    series = [*replicas(n, n, *pods), *[one("load", load / n, pod=pod) for pod in pods]]
    (group,) = outcomes(loaded, tick(loaded, series))
    return group


def missing(reason: Reason = Reason.EMPTY, message: str = "load: no series matches") -> GroupSignal:
    return GroupSignal({}, NoSignal(Missing(reason, message)))


def told(groups: Iterable[tuple[float, GroupSignal]]) -> SignalHistory:
    """The history of ticks, each so many seconds after T."""
    histories = Histories()
    for seconds, group in groups:
        histories.record(KEY, T + seconds, "replicas", [group])
    found = histories.of(KEY, {})
    assert found is not None
    return found


def test_a_point_holds_value_n_interval_and_reason() -> None:
    data = told([(0, signal(42, n=4)), (15, missing())]).as_data()
    # 42 ÷ 10 = 4.2 of which N is 4: U = D = 4.2.
    assert data == {
        "step_seconds": 15,
        "t": [T, T + 15],
        "value": [4.2, None],
        "n": [4, None],
        "up": [4.2, None],
        "down": [4.2, None],
        "reason": [None, "empty"],
    }


def test_a_bound_that_is_not_there_is_null() -> None:
    """N is 4 and one pod of four reports 5: U counts 0 for the others, 5 ÷ 10, and nothing says how many may go."""
    loaded = policy(PLAIN)
    series = [*replicas(4, 4, "d-0", "d-1", "d-2", "d-3"), one("load", 5, pod="d-0")]
    data = told([(0, outcomes(loaded, tick(loaded, series))[0])]).as_data()
    assert (data["value"], data["up"], data["down"]) == ([4], [0.5], [None])


def test_an_hour_is_240_points_of_41_bytes_and_no_more() -> None:
    group = signal(42)
    history = told((15 * k, group) for k in range(1000))
    times = history.as_data()["t"]
    assert isinstance(times, list)
    assert (len(times), times[-1]) == (MAX_POINTS, T + 999 * 15)
    assert times[-1] - times[0] < SPAN_SECONDS
    assert history.kept_bytes == 240 * 41


def test_of_the_ticks_within_15_seconds_the_newest_stays() -> None:
    groups = [(float(second), signal(second + 10)) for second in range(40)]
    data = told(groups).as_data()
    # T is a multiple of 15: seconds 0 to 14, 15 to 29, 30 to 39.
    assert data["t"] == [T + 14, T + 29, T + 39]
    assert data["value"] == [2.4, 3.9, 4.9]


def test_a_slow_policy_has_a_point_for_each_tick() -> None:
    group = signal(42)
    data = told((300 * k, group) for k in range(30)).as_data()
    assert data["t"] == [T + 300 * k for k in range(18, 30)]  # 12 of 5 min in an hour


def test_a_clock_that_was_set_back_forgets_what_is_not_yet() -> None:
    data = told([(0, signal(10)), (60, signal(20)), (30, signal(30))]).as_data()
    assert (data["t"], data["value"]) == ([T, T + 30], [1, 3])


def test_a_change_is_a_replica_a_reason_or_another_decider_and_nothing_less() -> None:
    """42, 43: 5 replicas both. 51: 6. Nothing. 52: 6 again, from no value. 52 with N 5 instead of 1: still 6."""
    ticks = [signal(42), signal(43), signal(51), missing(), missing(message="still"), signal(52), signal(52, n=5)]
    changes = [change.as_data() for change in told((15 * k, group) for k, group in enumerate(ticks)).changes]
    assert [(one["t"], one["before"], one["after"], one["reason"]) for one in changes] == [
        (T, None, 5, None),
        (T + 30, 5, 6, None),
        (T + 45, 6, None, "empty"),
        (T + 75, None, 6, None),
    ]
    assert [one["first"] for one in changes] == [True, False, False, False]
    assert changes[2]["decided_by"] == "empty: load: no series matches"


def test_deciders_that_take_turns_push_nothing_else_out() -> None:
    """N 6 is within [6, 6]; U is 6 at a load of 60, so "N 6" decides; D 5.5 below N 6 is "term batch"."""
    ticks = [(0.0, signal(70, n=6))]
    ticks += [(15.0 * k, signal(60 if k % 2 else 55, n=6)) for k in range(1, 100)]
    changes = told(ticks).changes
    assert [(change.t, change.before, change.after) for change in changes] == [
        (T, None, 7),
        (T + 15, 7, 6),
        (T + 99 * 15, 6, 6),
    ]


def test_the_last_20_changes_are_kept() -> None:
    changes = told((15 * k, signal(10 if k % 2 else 90)) for k in range(50)).changes
    assert len(changes) == MAX_CHANGES
    assert changes[-1].t == T + 49 * 15


def test_the_words_of_a_long_error_are_cut() -> None:
    (change,) = told([(0, missing(message="x" * 5000))]).changes
    assert len(change.decided_by) == 200


def group(model: str) -> GroupSignal:
    return GroupSignal({"model": model}, NoSignal(Missing(Reason.EMPTY, "")))


def test_signals_beyond_the_bound_have_no_history_until_others_are_gone() -> None:
    histories = Histories(max_signals=2)
    histories.record(KEY, T, "replicas", [group("a"), group("b"), group("c")])
    assert histories.of(KEY, {"model": "b"}) is not None
    assert histories.of(KEY, {"model": "c"}) is None
    histories.record(("prod", "other"), T, "replicas", [group("a")])
    assert histories.of(("prod", "other"), {"model": "a"}) is None
    histories.keep([("prod", "other")])
    histories.record(("prod", "other"), T + 15, "replicas", [group("a")])
    assert histories.of(("prod", "other"), {"model": "a"}) is not None
    assert histories.of(KEY, {"model": "a"}) is None


def test_a_group_that_was_not_seen_for_an_hour_is_forgotten() -> None:
    histories = Histories()
    histories.record(KEY, T, "replicas", [group("a"), group("b")])
    histories.record(KEY, T + SPAN_SECONDS - 15, "replicas", [group("b")])
    assert histories.of(KEY, {"model": "a"}) is not None
    histories.record(KEY, T + SPAN_SECONDS, "replicas", [group("b")])
    assert histories.of(KEY, {"model": "a"}) is None
    assert histories.of(KEY, {"model": "b"}) is not None


@pytest.mark.parametrize(
    ("published_as", "replicas_asked"),
    [("replicas", 42), ("total", 5)],
)
def test_of_a_total_the_replicas_count_that_it_stands_for(published_as: str, replicas_asked: int) -> None:
    """The same load of 42: as a total the value is 42 and N clamped into [U, D] is 4.2, which the HPA makes 5."""
    text = PLAIN if published_as == "replicas" else PLAIN.replace("{metric: q}", "{metric: q, as: total}")
    loaded = policy(text.replace("per_replica: 10", "per_replica: 1") if published_as == "replicas" else text)
    series = [*replicas(1, 1, "d-0"), one("load", 42, pod="d-0")]
    histories = Histories()
    histories.record(KEY, T, published_as, outcomes(loaded, tick(loaded, series)))
    found = histories.of(KEY, {})
    assert found is not None
    assert (found.as_data()["value"], found.changes[0].after) == ([42], replicas_asked)
