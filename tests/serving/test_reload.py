"""Reloading under load: a thousand policies in a mounted ConfigMap, each swap with a broken file in it."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from adapter_process import AdapterProcess, FrontProxy
from child_process import eventually
from config_map_mount import ConfigMapMount
from fake_prometheus import FakePrometheus
from grid_policies import policy_text

POLICIES, SWAPS = 1000, 50


class Asked:
    """The answers of a loop of GETs: by status, and by policy the values seen."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.values: dict[str, set[str]] = {}


@contextmanager
def asking(adapter: AdapterProcess, names: list[str]) -> Iterator[Asked]:
    """GETs of the policies in turn, without a pause, while the block runs."""
    asked, ended = Asked(), threading.Event()

    def ask() -> None:
        while not ended.is_set():
            for name in names:
                answer = adapter.metric("prod", name)
                asked.statuses[answer.status_code] += 1
                if answer.status_code == 200:
                    asked.values.setdefault(name, set()).add(answer.json()["items"][0]["value"])

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield asked
    finally:
        ended.set()
        thread.join(30)


def reload_errors(adapter: AdapterProcess) -> int:
    found = re.search(r"^scaleproof_policy_reload_errors_total (\S+)$", adapter.own_metrics(), re.MULTILINE)
    return int(float(found.group(1))) if found else -1


def values_shown(adapter: AdapterProcess) -> int:
    return adapter.own_metrics().count("\nscaleproof_signal_value{")


@pytest.mark.slow
def test_fifty_swaps_of_a_thousand_policies_each_with_a_broken_file_lose_no_answer(
    tmp_path: Path, folder: Path, prometheus: FakePrometheus, front_proxy: FrontProxy
) -> None:
    names = [f"p{number}" for number in range(POLICIES)]
    # Fewer queries a second than a Prometheus made of Python threads can answer: 1,000 policies each 30 s.
    good = {f"{name}.yaml": policy_text(name).replace("every: 1s", "every: 30s").replace("10s", "1m") for name in names}
    mount = ConfigMapMount(folder, good)
    adapter = AdapterProcess(
        tmp_path,
        folder,
        prometheus.url,
        front_proxy.serving,
        front_proxy.serving_authority.certificate_file,
        client=front_proxy.certificate,
        flags=front_proxy.flags,
    )
    try:
        adapter.wait_ready()
        eventually(lambda: values_shown(adapter) == POLICIES, "every policy has a value", 90, 0.5)
        with asking(adapter, names[: SWAPS + 1]) as asked:
            for number in range(SWAPS):
                files = dict(good)
                # Broken, and with what would give another value if it were taken.
                text = good[f"p{number}.yaml"].replace("per_replica: 10", "per_replica: 35")
                files[f"p{number}.yaml"] = text.replace("unit: count", "unit: pounds")
                # Beside it one that is sound asks for 70 ÷ 20 = 3.5 and then for 70 ÷ 10 = 7 replicas, in turn.
                if number % 2 == 0:
                    last = f"p{SWAPS}.yaml"
                    files[last] = good[last].replace("per_replica: 10", "per_replica: 20")
                mount.swap(files)
                eventually(lambda wanted=number + 1: reload_errors(adapter) == wanted, f"error {number}", 10, 0.25)  # type: ignore[misc]
        assert set(asked.statuses) == {200}
        assert sum(asked.statuses.values()) > 1000
        assert asked.values == {name: {"7"} for name in names[:SWAPS]} | {f"p{SWAPS}": {"7", "3500m"}}
        assert values_shown(adapter) == POLICIES
        mount.swap(good)
        eventually(lambda: "\nscaleproof_policy_files_broken 0.0" in adapter.own_metrics(), "nothing is broken", 10)
        assert reload_errors(adapter) == SWAPS
        assert "place=" in adapter.child.output()
        assert f"/p{SWAPS - 1}.yaml:9:" in adapter.child.output()
    finally:
        adapter.close()


@pytest.mark.slow
def test_a_policy_that_moves_between_files_is_served_without_a_gap_and_keeps_its_memory(
    tmp_path: Path, folder: Path, prometheus: FakePrometheus, front_proxy: FrontProxy
) -> None:
    a, b = policy_text("a"), policy_text("b", "other")
    mount = ConfigMapMount(folder, {"one.yaml": f"{a}---\n{b}"})
    adapter = AdapterProcess(
        tmp_path,
        folder,
        prometheus.url,
        front_proxy.serving,
        front_proxy.serving_authority.certificate_file,
        client=front_proxy.certificate,
        flags=front_proxy.flags,
    )
    try:
        adapter.wait_ready()
        eventually(lambda: values_shown(adapter) == 2, "both have a value", 20)
        with asking(adapter, ["b"]) as asked:
            for number in range(3):
                mount.swap({"one.yaml": a, f"two-{number}.yaml": f"# {number}\n{b}"})
                done = f"scaleproof_policy_reload_seconds_count {number + 2}.0"  # the first was at the start
                eventually(lambda done=done: done in adapter.own_metrics(), "the swap is seen", 10)  # type: ignore[misc]
            mount.swap({"one.yaml": a})
            eventually(lambda: asked.statuses[404] > 0, "b is withdrawn with its file", 10)
        assert set(asked.statuses) == {200, 404}
        assert asked.values == {"b": {"7"}}
        # A poller that begins asks for its memory, 128 s, once.
        assert [count for query, count in prometheus.seen.items() if query == 'other{namespace=~"prod|"}[128s]'] == [1]
    finally:
        adapter.close()
