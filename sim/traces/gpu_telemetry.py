"""The generator of the bundled GPU telemetry: a made-up look-alike of what image-generation services really report.

`python -m sim.traces.gpu_telemetry` writes the shipped file anew, the same text for the same seed. It has the marks of
such telemetry that mislead policies: a duty cycle that is 0 in two thirds of the samples while the memory of loaded
models stays held; bursts; latencies of two kinds (a warm model, and one that must be loaded first); rows 57 s apart; a
few holes and blanks. Nothing of any recorded trace is in it; the shares aimed at are in data/SOURCE.md.
"""

import argparse
import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

SEED = 20260826
STEP_SECONDS = 57
STEPS = 1441
PODS = 12
TRACE_FILE = Path(__file__).parent / "data" / "gpu-telemetry-23h.csv.gz"
COLUMNS = (
    "t_s", "pod", "gpu_duty_cycle_percent", "vram_used_bytes", "vram_total_bytes", "queue_size", "latency_seconds",
)  # fmt: skip

GIB = 1024**3
TOTAL_BYTES = 48 * GIB
RESERVED_BYTES = int(0.6 * GIB)
MODEL_BYTES = (13 * GIB, 17 * GIB, 24 * GIB, 31 * GIB)
"""Base models; an add-on of 0.2 to 1.5 GiB comes on top while a pod is busy."""

# A pod alternates between pauses and bursts, geometric in steps: with means of 5.5 and 2.8 steps it is busy for
# 2.8 ÷ (5.5 + 2.8) = 34 % of the time, and so idle with its memory held in about two thirds of the samples.
PAUSE_STEPS, BURST_STEPS = 5.5, 2.8
WARM_SECONDS, COLD_SECONDS = 6.0, 48.0
COLD_SHARE = 0.12
HOLE_SHARE = 0.0006
BLANK_SHARE = 0.004


@dataclass
class _Pod:
    """One pod with one GPU: which model it holds, how long its burst or pause goes on."""

    name: str
    draw: Random
    model: int = 0
    is_busy: bool = False
    left: int = 0
    absent: int = 0
    extra: int = field(default=0)

    def step(self) -> None:
        if self.left <= 0:
            self.is_busy = not self.is_busy
            mean = BURST_STEPS if self.is_busy else PAUSE_STEPS
            self.left = 1 + int(self.draw.expovariate(1 / (mean - 0.5)))
            if self.is_busy and self.draw.random() < COLD_SHARE:
                self.model = self.draw.choice(MODEL_BYTES)
            self.extra = int(self.draw.uniform(0.2, 1.5) * GIB) if self.is_busy else 0
        self.left -= 1
        if self.absent:
            self.absent -= 1
        elif self.draw.random() < HOLE_SHARE:
            self.absent = self.draw.randint(3, 20)

    def duty(self) -> float:
        """Percent of the time in which a kernel ran: 0 in a pause; in a burst low most often, at times near full."""
        return round(100 * self.draw.betavariate(0.42, 1.7), 1) if self.is_busy else 0.0

    def used(self) -> int:
        held = RESERVED_BYTES + self.model + self.extra
        return min(TOTAL_BYTES, held + (int(self.draw.uniform(0, 6) * GIB) if self.is_busy else 0))

    def latency(self) -> float | None:
        """Seconds of a request, of two kinds: warm about 6, cold about 48; None where none ended."""
        if not self.is_busy:
            return None
        middle = COLD_SECONDS if self.draw.random() < COLD_SHARE else WARM_SECONDS
        return round(middle * self.draw.lognormvariate(0, 0.25), 2)


def generate(seed: int = SEED) -> str:
    """The whole trace as CSV text."""
    return "\n".join([",".join(COLUMNS), *_rows(seed)]) + "\n"


def _rows(seed: int) -> Iterator[str]:
    pods = []
    for index in range(PODS):
        draw = Random(f"{seed} pod {index}")  # noqa: S311 - repeatable on purpose
        pods.append(_Pod(f"diffusion-6b9f7d-{index:02d}", draw, draw.choice(MODEL_BYTES), False, draw.randint(0, 9)))
    for step in range(STEPS):
        for pod in pods:
            pod.step()
            queue = pod.draw.choices((0, 1, 2, 3), (70, 22, 6, 2))[0] if pod.is_busy else 0
            latency, duty, used = pod.latency(), pod.duty(), pod.used()
            if pod.absent:
                continue
            told = "" if pod.draw.random() < BLANK_SHARE else f"{duty:g}"
            cells = (step * STEP_SECONDS, pod.name, told, used, TOTAL_BYTES, queue, "" if latency is None else latency)
            yield ",".join(map(str, cells))


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Write the bundled GPU telemetry anew.")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--to", type=Path, default=TRACE_FILE)
    given = parser.parse_args()
    given.to.write_bytes(gzip.compress(generate(given.seed).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
