"""Accounts to whoever may read the metric: selectors, what is not there, bounds, and nothing of a neighbour."""

import json
from typing import Any

import pytest
from explained_hour import FLEET, POLICY
from policy_world import LIBRARY, T, one, outcomes, tick

from adapter.accounts import TooManyError, Wanted, is_yes
from adapter.board import Board
from adapter.core.label_selectors import SelectorError
from adapter.core.policy_reading import LoadedPolicy, read_policies


def explained(board: Board, metric: str, wanted: Wanted | None = None, namespace: str = "prod") -> dict[str, Any]:
    reply = board.explain(namespace, metric, wanted or Wanted())
    document: dict[str, Any] = json.loads(reply.body)
    return {**document, "status": reply.status}


def test_the_account_of_a_metric_is_what_it_serves_with_how_it_came_about(hour: Board) -> None:
    found = explained(hour, "chat-replicas")
    (signal,) = found["signals"]
    (item,) = json.loads(hour.reply("prod", "chat-replicas", "").body)["items"]
    assert (found["kind"], found["now"]) == ("Explanation", T)
    assert signal["value"] == item["value"] == "5"
    assert (signal["policy"], signal["why"]["up"], signal["why"]["n"]) == ("chat", 2.0585, 5)
    assert signal["why"]["guards"] == [
        {"is_holding": True, "direction": "down", "text": "guard when vram > 95%: holds since 585 s"}
    ]
    assert "history" not in signal


def test_the_name_is_read_without_regard_to_case_as_that_of_the_metric_is(hour: Board) -> None:
    assert explained(hour, "CHAT-Replicas")["status"] == 200


def test_a_selector_chooses_a_group(hour: Board) -> None:
    (signal,) = explained(hour, "fleet-replicas", Wanted(label_selector="model=m03"))["signals"]
    assert (signal["labels"], signal["value"]) == ({"model": "m03"}, "3290m")  # 3 × 3 + 239 ÷ 10 = 32.9, ÷ 10


@pytest.mark.parametrize(
    ("namespace", "metric", "selector", "status"),
    [
        pytest.param("other", "chat-replicas", "", 404, id="of a neighbour"),
        pytest.param("prod", "nosuch", "", 404, id="none"),
        pytest.param("prod", "fleet-replicas", "model=nosuch", 404, id="no such group"),
        pytest.param("prod", "fleet-replicas", "=", 400, id="no selector"),
    ],
)
def test_what_is_not_there_is_answered_as_for_the_metric(
    hour: Board, namespace: str, metric: str, selector: str, status: int
) -> None:
    found = hour.explain(namespace, metric, Wanted(label_selector=selector))
    assert found.status == status
    served = hour.reply(namespace, metric, selector)
    assert (served.status, served.body) == (found.status, found.body)


def test_a_history_comes_with_few_signals_at_once(hour: Board) -> None:
    (signal,) = explained(hour, "chat-replicas", Wanted(with_history=True))["signals"]
    assert len(signal["history"]["t"]) == 240
    refused = explained(hour, "fleet-replicas", Wanted(with_history=True))
    assert refused["status"] == 400
    assert refused["message"] == "30 signals, at most 20 are explained at once: select some by labelSelector"
    with pytest.raises(TooManyError, match="32 signals, at most 20"):
        hour.accounts(Wanted(with_history=True))


def test_the_metrics_address_narrows_by_namespace_policy_metric_and_labels(hour: Board) -> None:
    def policies(**wanted: str) -> set[object]:
        return {one["policy"] for one in hour.accounts(Wanted(**wanted))}  # type: ignore[arg-type]  # all are texts

    assert policies() == {"chat", "fleet", "refused"}
    assert policies(policy="fleet") == {"fleet"}
    assert policies(metric="refused-replicas") == {"refused"}
    assert policies(namespace="other") == set()
    assert policies(label_selector="model=m03") == {"fleet"}
    with pytest.raises(SelectorError):
        policies(label_selector="=")


def fleet() -> LoadedPolicy:
    text = POLICY.format(name="fleet") + FLEET.format(models="")
    (loaded,), _ = read_policies(text.replace("{model: []}", "[model]"), "fleet.yaml", LIBRARY)
    return loaded


def test_a_policy_says_why_it_has_no_signal_yet() -> None:
    board, loaded = Board(lambda: T), fleet()
    board.keep([loaded])
    (signal,) = explained(board, "fleet-replicas", Wanted(label_selector="model=a"))["signals"]
    assert (signal["reason"], signal["labels"], signal["changes"]) == ("starting", {}, [])
    board.publish(loaded, T, outcomes(loaded, tick(loaded, [])))
    (signal,) = explained(board, "fleet-replicas")["signals"]
    assert (signal["reason"], signal["message"]) == ("empty", "no group has been seen")


def test_what_ran_out_is_told_as_stale_and_its_history_stays() -> None:
    now = [T]
    board, loaded = Board(lambda: now[0]), fleet()
    board.keep([loaded])
    board.publish(loaded, T, outcomes(loaded, tick(loaded, [one("in_flight", 53, model="a")])))
    now[0] += 60
    (signal,) = explained(board, "fleet-replicas")["signals"]
    assert (signal["value"], signal["reason"], signal["message"]) == (None, "stale", "the last evaluation was 60 s ago")
    assert signal["headline"] == "no value (stale), so nothing is scaled down: the last evaluation was 60 s ago"


def test_a_policy_that_is_gone_leaves_nothing() -> None:
    board, loaded = Board(lambda: T), fleet()
    board.keep([loaded])
    board.publish(loaded, T, outcomes(loaded, tick(loaded, [one("in_flight", 53, model="a")])))
    board.keep([])
    board.keep([loaded])
    board.publish(loaded, T + 15, outcomes(loaded, tick(loaded, [one("in_flight", 53, model="a")], t=T + 15)))
    (signal,) = explained(board, "fleet-replicas")["signals"]
    assert [change["t"] for change in signal["changes"]] == [T + 15]


@pytest.mark.parametrize(
    ("value", "is_asked"), [("true", True), ("1", True), ("yes", True), ("false", False), ("0", False), ("", False)]
)
def test_a_parameter_means_yes_as_watch_does(value: str, is_asked: bool) -> None:
    assert is_yes({"explain": value}, "explain") is is_asked
    assert not is_yes({}, "explain")
