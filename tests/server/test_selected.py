"""Replies to selectors: rendered once a tick, never of another tick, never more than so many bytes."""

import json

import pytest
from policy_world import HEAD, LIBRARY, T, one, outcomes, tick

from adapter.board import Board
from adapter.core.external_metrics import Reply
from adapter.core.label_selectors import parse_label_selector
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, NoSignal
from adapter.selected import ENTRY_BYTES, Groups, SelectedReplies

BY_MODEL = """\
  by: [model]
  inputs: {load: {query: load, unit: count, per: [instance]}}
  terms: {q: {concurrency: load, per_replica: 1}}
  publish: {metric: q, sum: true}
"""


@pytest.fixture
def loaded() -> LoadedPolicy:
    found, problems = read_policies(HEAD + BY_MODEL, "policy.yaml", LIBRARY)
    assert len(found) == 1, problems
    return found[0]


def publish(board: Board, loaded: LoadedPolicy, t: float, **values: float) -> None:
    series = [one("load", value, at=t - 18, model=model) for model, value in values.items()]
    board.publish(loaded, t, outcomes(loaded, tick(loaded, series, t=t)))


def values_of(board: Board, selector: str, namespace: str = "prod") -> list[str]:
    reply = board.reply(namespace, "q", selector)
    return [item["value"] for item in json.loads(reply.body)["items"]] if reply.status == 200 else [str(reply.status)]


def test_the_same_selector_gets_the_same_bytes_until_the_next_tick_and_new_ones_after_it(loaded: LoadedPolicy) -> None:
    board = Board(lambda: T)
    board.keep([loaded])
    publish(board, loaded, T, a=3, b=5)
    first = board.reply("prod", "q", "model=a")
    assert board.reply("prod", "q", "model=a") is first
    publish(board, loaded, T + 15, a=4, b=5)
    assert values_of(board, "model=a") == ["4"]
    assert values_of(board, "model in (a,b)") == ["4", "5"]


def test_a_reply_is_kept_for_its_namespace_and_spelling_alone(loaded: LoadedPolicy) -> None:
    board = Board(lambda: T)
    board.keep([loaded])
    publish(board, loaded, T, a=3)
    assert values_of(board, "model=a") == ["3"]
    assert values_of(board, "model=a", "other") == ["404"]
    assert json.loads(board.reply("prod", "Q", "model=a").body)["items"][0]["metricName"] == "Q"
    board.keep([])
    assert values_of(board, "model=a") == ["404"]


def group(**labels: str) -> GroupSignal:
    return GroupSignal(labels, NoSignal(Missing(Reason.EMPTY, "")))


@pytest.mark.parametrize(
    ("selector", "models"),
    [
        ("model=b", ["b"]),
        ("model==b,zone=z", ["b"]),
        ("zone=z", ["a", "b"]),
        ("zone=", []),
        ("nosuch=b", []),
        ("nosuch!=b", ["a", "b", "c"]),
        ("model!=b,zone=z", ["a"]),
        ("!zone", ["c"]),
        ("model=a,model=b", []),
    ],
)
def test_what_is_found_by_a_label_is_what_the_whole_selector_matches(selector: str, models: list[str]) -> None:
    groups = Groups([group(model="a", zone="z"), group(model="b", zone="z"), group(model="c")])
    found = groups.selected(parse_label_selector(selector))
    assert [one.labels["model"] for one in found] == models


def test_what_is_kept_is_bounded_and_the_least_recently_used_goes_first() -> None:
    """Each takes 600 for itself, 3 for its names and 97 for its body: 700, of which three fit into 2,100."""
    kept, groups = SelectedReplies(3 * (ENTRY_BYTES + 100)), Groups([])
    reply = Reply(200, b"x" * 97)
    for selector in ("1", "2", "3"):
        kept.keep(("n", "m", selector), groups, reply)
    assert kept.get(("n", "m", "1"), groups) is reply
    kept.keep(("n", "m", "4"), groups, reply)
    assert [kept.get(("n", "m", one), groups) is not None for one in "1234"] == [True, False, True, True]
    assert kept.kept_bytes == 2100
    kept.keep(("n", "m", "4"), groups, reply)
    kept.keep(("n", "m", "y" * 60_000), groups, reply)
    assert kept.kept_bytes == 2100
    assert kept.get(("n", "m", "1"), Groups([])) is None
