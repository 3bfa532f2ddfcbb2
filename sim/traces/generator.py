"""The generator of the bundled trace: arrivals of a real log, a simple plant, a plain schedule of replicas, one seed.

`python -m sim.traces.generator` writes the shipped file anew, the same text for the same seed. The log covers one hour;
the second hour is the first once more at half as much again (× 1.5). The schedule stands in for whoever scaled the
recorded workload: ⌈arrivals per second of the last two minutes ÷ 80 % of one replica's best rate⌉, looked at every
30 s, up at once, down by one when the largest of the last five minutes allows it. scaleproof would have done otherwise.
"""

import argparse
import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from random import Random

from sim.traces.arrivals import (
    ARRIVALS_FILE,
    HOUR_STEPS,
    STEP_SECONDS,
    Bucket,
    count_requests,
    read_arrivals,
    write_arrivals,
)
from sim.traces.metric_trace import COLUMNS, TRACE_FILE
from sim.traces.plant import Draw, Engine, Replica, gpu_active, spread, vram_used

SEED = 20231116
STEPS = 2 * HOUR_STEPS
SECOND_HOUR = 1.5
SCHEDULE_SECONDS = 30
RATE_STEPS = 8
CALM_SECONDS = 300
DRAIN_SECONDS = 30
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""The letters Kubernetes makes the suffixes of names from."""


@dataclass(frozen=True, slots=True)
class Share:
    """A log's requests, so many times over, begun so many steps into the log (its end is followed by its start)."""

    log: str
    times: float
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment: what it gets, and its engine. `rate` is one replica's best, requests per second."""

    deployment: str
    replica_set: str
    shares: tuple[Share, ...]
    rate: float
    engine: Engine


# 70B in FP8 on two 80 GB cards. Worked for the log's means (1155 prompt, 211 generated tokens) and a full batch:
# 64 ÷ (211 × (0.025 + 0.00028 × 64) + 64 × 1155 × 0.000075) = 64 ÷ (9.06 + 5.54) = 4.4 requests per second.
LLAMA_70B = Workload(
    deployment="llama-70b",
    replica_set="7c9f6b5d4",
    shares=(Share("conv", 4.0),),
    rate=4.4,
    engine=Engine(
        batch=64,
        decode_base=0.025,
        decode_each=0.00028,
        prompt_token=0.000075,
        kv_tokens=110_000,
        cold_start=120,
        vram_total=81_559,
        vram_reserved=600,
        vram_weights=36_200,
        vram_idle=72_700,
        vram_each=60,
    ),
)
# 8B on one 48 GB card, chat half an hour later and bursts of code: about 1450 prompt and 150 generated tokens, so
# 128 ÷ (150 × (0.008 + 0.00005 × 128) + 128 × 1450 × 0.00005) = 128 ÷ (2.16 + 9.28) = 11.2 requests per second.
LLAMA_8B = Workload(
    deployment="llama-8b",
    replica_set="66d84f9bc",
    shares=(Share("conv", 6.0, shift=HOUR_STEPS // 2), Share("code", 2.0)),
    rate=11.2,
    engine=Engine(
        batch=128,
        decode_base=0.008,
        decode_each=0.00005,
        prompt_token=0.00005,
        kv_tokens=180_000,
        cold_start=60,
        vram_total=46_068,
        vram_reserved=580,
        vram_weights=15_300,
        vram_idle=40_900,
        vram_each=18,
    ),
)
WORKLOADS = (LLAMA_70B, LLAMA_8B)


def generate(arrivals: dict[str, list[Bucket]], seed: int = SEED) -> str:
    """The whole trace as CSV text."""
    lines = [",".join(COLUMNS)]
    for workload in WORKLOADS:
        # Text seeds are hashed with SHA-512, so each workload has a stream of its own.
        draw = Random(f"{seed} {workload.deployment}").random  # noqa: S311 - repeatable on purpose
        lines += _Run(workload, mixed(workload, arrivals, draw), draw).rows()
    return "\n".join(lines) + "\n"


def whole_hour(log: list[Bucket]) -> list[Bucket]:
    """An hour of steps. Both logs end some two minutes short of it: the last minutes are played again, backwards."""
    whole = log[:-1]  # the last step is cut off in the middle
    return (whole + whole[-2::-1])[:HOUR_STEPS]


def mixed(workload: Workload, arrivals: dict[str, list[Bucket]], draw: Draw) -> list[Bucket]:
    """Two hours of arrivals: the shares of the logs added up, the second hour at half as much again.

    A count that is no whole number is rounded up as often as its fraction says; lengths of requests stay the log's.
    """
    hours = {share.log: whole_hour(arrivals[share.log]) for share in workload.shares}
    found = []
    for step in range(STEPS):
        sums = [0, 0, 0]
        for share in workload.shares:
            one = hours[share.log][(step + share.shift) % HOUR_STEPS]
            factor = share.times * (SECOND_HOUR if step >= HOUR_STEPS else 1.0)
            count = int(one.requests * factor + draw())
            if one.requests:
                sums[0] += count
                sums[1] += one.prompt_tokens * count // one.requests
                sums[2] += one.generated_tokens * count // one.requests
        found.append(Bucket(*sums))
    return found


@dataclass
class _Run:
    """One workload over two hours."""

    workload: Workload
    arrivals: list[Bucket]
    draw: Draw
    replicas: list[Replica] = field(default_factory=list)
    spec: int = 1
    wanted: list[tuple[int, int]] = field(default_factory=list)
    prompt: float = 1000.0
    generated: float = 100.0

    def rows(self) -> Iterator[str]:
        self.spec = self.plain_formula(0)
        self.replicas = [self.new_replica(-self.workload.engine.cold_start) for _ in range(self.spec)]
        for step, bucket in enumerate(self.arrivals):
            yield from self.record(step * STEP_SECONDS)
            if bucket.requests:
                self.prompt = bucket.prompt_tokens / bucket.requests
                self.generated = bucket.generated_tokens / bucket.requests
            for second in range(STEP_SECONDS):
                now = step * STEP_SECONDS + second
                if now % SCHEDULE_SECONDS == 0:
                    self.schedule(now, step)
                # Spread evenly: after s of 15 seconds, ⌊n × s ÷ 15⌋ have arrived.
                due = bucket.requests * (second + 1) // STEP_SECONDS - bucket.requests * second // STEP_SECONDS
                self.second(now, due)

    def second(self, now: int, due: int) -> None:
        for gone in [one for one in self.replicas if one.leaves_at is not None]:
            if now >= (gone.leaves_at or 0) or gone.running + gone.waiting == 0:
                self.replicas.remove(gone)
                due += gone.running + gone.waiting  # what it could not finish is sent again
        spread(due, [one for one in self.replicas if one.is_ready(now)], self.draw)
        for one in self.replicas:
            if now >= one.ready_at:
                one.serve(self.workload.engine, self.prompt, self.generated, self.draw)

    def plain_formula(self, step: int) -> int:
        seen = self.arrivals[max(0, step - RATE_STEPS) : step] or self.arrivals[:RATE_STEPS]
        rate = sum(one.requests for one in seen) / (len(seen) * STEP_SECONDS)
        return max(1, ceil(rate / (0.8 * self.workload.rate)))

    def schedule(self, now: int, step: int) -> None:
        wanted = self.plain_formula(step)
        self.wanted = [(time, one) for time, one in self.wanted if time > now - CALM_SECONDS] + [(now, wanted)]
        calm = max(one for _, one in self.wanted)
        if wanted > self.spec:
            self.replicas += [self.new_replica(now) for _ in range(wanted - self.spec)]
            self.spec = wanted
        elif calm < self.spec:
            self.spec -= 1
            staying = [one for one in self.replicas if one.leaves_at is None]
            newest = max(staying, key=lambda one: (one.born, one.name))
            newest.leaves_at = now + DRAIN_SECONDS

    def new_replica(self, now: int) -> Replica:
        suffix = "".join(_ALPHABET[int(self.draw() * len(_ALPHABET))] for _ in range(5))
        name = f"{self.workload.deployment}-{self.workload.replica_set}-{suffix}"
        return Replica(name, now, now + self.workload.engine.cold_start)

    def record(self, now: int) -> Iterator[str]:
        engine = self.workload.engine
        ready = sum(one.is_ready(now) for one in self.replicas)
        for one in self.replicas:
            used = vram_used(engine, one, now, self.draw)
            active = gpu_active(one, self.draw)
            serving = ("", "", "", "", "")
            if now >= one.ready_at:
                serving = (
                    str(one.arrived),
                    str(one.completed),
                    str(one.waiting),
                    str(one.running),
                    f"{min(1.0, one.kv):.4f}",
                )
            cells = (now, self.workload.deployment, self.spec, ready, one.name, int(one.is_ready(now)), *serving)
            memory = (f"{active:.4f}", used, engine.vram_total - used, engine.vram_reserved)
            yield ",".join(map(str, (*cells, *memory)))


def main() -> None:
    """Write the data files anew; `--logs DIR` counts the requests of the Azure log again first."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--logs", type=Path, help="folder with AzureLLMInferenceTrace_{conv,code}.csv")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=TRACE_FILE)
    arguments = parser.parse_args()
    if arguments.logs is not None:
        counted = {}
        for name in ("conv", "code"):
            with (arguments.logs / f"AzureLLMInferenceTrace_{name}.csv").open(encoding="utf-8") as log:
                counted[name] = count_requests(log)
        ARRIVALS_FILE.write_text(write_arrivals(counted), encoding="utf-8")
    text = generate(read_arrivals(), arguments.seed)
    arguments.output.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
