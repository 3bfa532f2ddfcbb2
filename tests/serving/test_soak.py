"""A soak: two adapters on one source whose faults are drawn anew every seven seconds, one adapter killed on the way.

A grid of 1 s stands for one of 15 s, so four minutes are an hour of ticks; `--soak-seconds 3600` is for a night. What
is right at each instant is worked out here from the world's own truth, and whatever is not right must be a reason.
"""

import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from adapter_process import AdapterProcess, FrontProxy
from child_process import eventually
from fake_prometheus import fake_prometheus
from faulty_world import FAULTS, faulty_behaviour, truth

pytestmark = [pytest.mark.slow, pytest.mark.timeout(4000)]

SEED = 20261201
FAULTY = tuple(f"faulty_{number}" for number in range(8))
SOUND = ("sound_0", "sound_1")
OFFSET_SECONDS = 2
WINDOW_TICKS = 10
WARM_SECONDS = 20.0
REASONS = {
    "starting", "empty", "stale", "not-a-number", "infinite", "negative", "too-large", "sentinel", "partial",
    "upstream-error", "upstream-timeout", "upstream-rejected",
}  # fmt: skip
P99_SECONDS = 1.0
GROWTH_MIB = 16.0

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: {name}, namespace: prod}}
spec:
  every: 1s
  memory: {memory}s
  offset: 2s
  scrape_interval: 1s
  inputs: {{load: {{query: "{query}", unit: count, per: [instance]}}}}
  terms: {{load: {{concurrency: load, per_replica: 10{shape}}}}}
  publish: {{metric: {name}}}
"""
SHAPE = f", shape: {{up: {{window: {WINDOW_TICKS}s, take: max}}, down: {{window: {WINDOW_TICKS}s, take: max}}}}"


def right_value(metric: str, t: float) -> str:
    """Requests in flight ÷ 10 at t - offset, or the most of the last ten ticks for a sound one, as a Quantity."""
    ticks = range(WINDOW_TICKS) if metric.startswith("sound") else (0,)
    milli = 100 * max(truth(metric, t - OFFSET_SECONDS - back) for back in ticks)
    return f"{milli // 1000}" if milli % 1000 == 0 else f"{milli}m"


@dataclass
class Watch:
    """Asks one adapter for every metric again and again, and keeps what is not as it should be."""

    adapter: AdapterProcess
    bodies: dict[tuple[str, float], bytes] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """How long each GET of a sound metric took."""
    is_up: threading.Event = field(default_factory=threading.Event)
    end: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.end.wait(0.2):
            for metric in FAULTY + SOUND:
                try:
                    self._look(metric)
                except requests.ConnectionError:
                    if self.is_up.is_set():
                        self.wrong.append(f"{metric}: no connection")

    def _look(self, metric: str) -> None:
        was_up, started = self.is_up.is_set(), time.monotonic()
        response = self.adapter.metric("prod", metric)
        if metric in SOUND and was_up:
            self.seconds.append(time.monotonic() - started)
        if response.status_code == 200:
            self.outcomes["value"] += 1
            t, item = float(response.headers["X-Scaleproof-Tick"]), response.json()["items"][0]
            if item["value"] != right_value(metric, t):
                self.wrong.append(f"{metric} at {t}: {item['value']} instead of {right_value(metric, t)}")
            if self.bodies.setdefault((metric, t), response.content) != response.content:
                self.wrong.append(f"{metric} at {t}: two bodies for one tick")
            return
        reason = response.json()["details"]["causes"][0]["reason"] if response.status_code == 503 else "none"
        self.outcomes[reason] += 1
        if reason not in REASONS or (metric in SOUND and was_up):
            self.wrong.append(f"{metric}: {response.status_code} {response.text[:300]}")


@dataclass(frozen=True)
class Footprint:
    """What a process holds."""

    mib: float
    threads: int
    descriptors: int

    @classmethod
    def of(cls, adapter: AdapterProcess) -> "Footprint":
        process = Path(f"/proc/{adapter.child.process.pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        descriptors = sum(1 for _ in (process / "fd").iterdir())
        return cls(int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), descriptors)


@dataclass
class Soak:
    """Two adapters and their watches on one world."""

    watches: list[Watch]
    faults: Counter[str]
    stack: ExitStack

    def watch(self, watch: Watch) -> None:
        thread = threading.Thread(target=watch.run, daemon=True)
        thread.start()
        self.stack.callback(thread.join, 30)
        self.stack.callback(watch.end.set)


def has_values(adapter: AdapterProcess) -> bool:
    return all(adapter.metric("prod", metric).status_code == 200 for metric in SOUND)


@pytest.fixture
def soak(tmp_path: Path) -> Iterator[Soak]:
    with ExitStack() as stack:
        folder = tmp_path / "policies"
        folder.mkdir()
        for name in FAULTY + SOUND:
            is_sound = name in SOUND
            memory, shape = (WINDOW_TICKS, SHAPE) if is_sound else (1, "")
            text = POLICY.format(name=name, query=name, memory=memory, shape=shape)
            (folder / f"{name.replace('_', '-')}.yaml").write_text(
                text.replace(f"name: {name}", f"name: {name.replace('_', '-')}")
            )
        faults: Counter[str] = Counter()
        prometheus = stack.enter_context(fake_prometheus(faulty_behaviour(SEED, faults)))
        proxy = FrontProxy(tmp_path)
        watches = []
        for name in ("a", "b"):
            adapter = AdapterProcess(
                tmp_path,
                folder,
                prometheus.url,
                proxy.serving,
                proxy.serving_authority.certificate_file,
                client=proxy.certificate,
                flags=proxy.flags,
                name=name,
            )
            stack.callback(adapter.close)
            adapter.wait_ready()
            eventually(lambda one=adapter: has_values(one), "the sound metrics have values", 30)
            watches.append(Watch(adapter))
        yield Soak(watches, faults, stack)


def test_every_answer_is_the_right_value_or_a_reason_through_an_hour_of_faults(
    soak: Soak, pytestconfig: pytest.Config
) -> None:
    seconds = float(pytestconfig.getoption("--soak-seconds"))
    first, second = soak.watches
    for watch in soak.watches:
        watch.is_up.set()
        soak.watch(watch)
    time.sleep(WARM_SECONDS)
    early = Footprint.of(first.adapter)
    time.sleep(seconds / 2)
    second.is_up.clear()
    second.adapter.kill()
    second.adapter.launch()
    second.adapter.wait_ready()
    eventually(lambda: has_values(second.adapter), "the restarted adapter has values", 30)
    second.is_up.set()
    time.sleep(seconds / 2)
    late = Footprint.of(first.adapter)
    for watch in soak.watches:
        watch.end.set()

    assert (first.wrong[:5], second.wrong[:5]) == ([], [])
    both = first.bodies.keys() & second.bodies.keys()
    assert [key for key in both if first.bodies[key] != second.bodies[key]] == []
    assert len(both) > 2 * seconds  # the sound ones alone are two a second, but for the restart
    assert soak.faults.keys() == {"well", *FAULTS} or seconds < 200, "every fault of the list was drawn"
    p99 = statistics.quantiles(first.seconds + second.seconds, n=100)[98]
    print(
        f"{seconds:g} s: {sum(first.outcomes.values())} + {sum(second.outcomes.values())} answers,"
        f" {len(both)} ticks compared, p99 of the sound {1000 * p99:.0f} ms, {early} → {late},"
        f" outcomes {json.dumps(first.outcomes)}, faults {json.dumps(soak.faults)}"
    )
    assert p99 < P99_SECONDS
    assert late.mib - early.mib < GROWTH_MIB
    assert late.threads <= early.threads + 16
    assert late.descriptors <= early.descriptors + 32
    assert not any(fault in first.adapter.child.output() for fault in ("Traceback", "evaluation-failed"))
