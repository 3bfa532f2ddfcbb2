"""The plant: replicas of an inference engine that batch requests, as simple as still shows the effects that matter.

One step is one second. A replica admits waiting requests while the batch and the KV cache have room, and completes
μ(r) = r ÷ (g × (a + b × r) + r × c × p) requests per second when r run: a decode step takes a + b × r seconds and gives
each of r requests one of its g tokens; a prompt of c tokens takes c × p seconds, in which nothing else runs. So
completions saturate with the batch, waiting grows without bound past it, and the KV cache follows the batch and the
length of the prompts. Randomness comes from the generator's own stream, so that a seed gives the same trace anywhere.

What it does not model: preemption, prefix caching, chunked prefill, routing by load, differences between requests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Draw = Callable[[], float]
"""Numbers from [0, 1), uniform."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What one replica can do and hold. Times are seconds, memory is MiB per GPU."""

    batch: int
    decode_base: float
    decode_each: float
    prompt_token: float
    kv_tokens: int
    cold_start: int
    vram_total: int
    vram_reserved: int
    vram_weights: int
    vram_idle: int
    vram_each: int

    def rate(self, running: float, prompt: float, generated: float) -> float:
        """Completions per second with so many running, for requests of these mean lengths."""
        if running <= 0:
            return 0.0
        return running / (
            generated * (self.decode_base + self.decode_each * running) + running * prompt * self.prompt_token
        )


@dataclass
class Replica:
    """One pod: loading for `cold_start` seconds, then ready, at last draining."""

    name: str
    born: int
    ready_at: int
    waiting: int = 0
    running: int = 0
    arrived: int = 0
    completed: int = 0
    leaves_at: int | None = None
    busy: float = field(default=0.0)
    kv: float = field(default=0.0)

    def is_ready(self, now: int) -> bool:
        return now >= self.ready_at and self.leaves_at is None

    def serve(self, engine: Engine, prompt: float, generated: float, draw: Draw) -> None:
        """One second: complete, then admit."""
        rate = engine.rate(self.running, prompt, generated)
        done = min(self.running, int(rate + draw()))
        self.running -= done
        self.completed += done
        # A running request holds its prompt and, on average over its life, half of what it generates.
        held = prompt + generated / 2
        room = min(engine.batch, int(engine.kv_tokens / held)) - self.running
        admitted = max(0, min(self.waiting, room))
        self.waiting -= admitted
        self.running += admitted
        best = engine.rate(engine.batch, prompt, generated)
        self.busy = engine.rate(self.running, prompt, generated) / best
        self.kv = self.running * held / engine.kv_tokens


def spread(requests: int, replicas: Sequence[Replica], draw: Draw) -> None:
    """Give each request to a replica at random, as a Service does."""
    for _ in range(requests):
        chosen = replicas[int(draw() * len(replicas))]
        chosen.arrived += 1
        chosen.waiting += 1


def gpu_active(replica: Replica, draw: Draw) -> float:
    """Share of time the engine was active: the share of its best rate that is in use, with ± 2 % of noise."""
    return max(0.0, min(1.0, 0.02 + 0.96 * replica.busy + 0.04 * (draw() - 0.5)))


def vram_used(engine: Engine, replica: Replica, now: int, draw: Draw) -> int:
    """MiB in use on each GPU: the weights come in while it loads; then weights, pool, and something per request."""
    if now < replica.ready_at:
        loaded = (now - replica.born) / max(1, replica.ready_at - replica.born)
        return int(engine.vram_weights * loaded)
    return engine.vram_idle + engine.vram_each * replica.running + int(24 * draw())
