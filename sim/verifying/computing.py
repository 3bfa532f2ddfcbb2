"""What a recording's own policy computes at each tick, from the recorded samples: replicas and pods as recorded too."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.policy_values import value_or_reason
from adapter.core.samples import Answer
from adapter.core.signals import GroupSignal
from adapter.core.tick_memory import TickMemory
from adapter.core.ticks import read_tick
from sim.replay.recorded_answers import recorded_answers
from sim.traces.recording import Recording

Answers = Mapping[str, Answer]
Alter = Callable[[float, Answers, Answers], Answers]
"""(tick, its answers, those of the tick before) → the answers that are to be read instead."""


@dataclass(frozen=True, slots=True)
class Computed:
    """One tick as it comes out of the recorded samples."""

    t: float
    groups: tuple[GroupSignal, ...]

    @property
    def text(self) -> str:
        """The value on the wire, or the reasons for having none."""
        return value_or_reason(self.groups)


def computed(recording: Recording, loaded: LoadedPolicy, alter: Alter | None = None) -> Iterator[Computed]:
    """Each tick whose memory is wholly recorded; before it the policy looked at what was not."""
    memory = TickMemory(loaded.plan.memory_ticks)
    first = first_whole_tick(recording, loaded)
    before: Answers = {}
    for t, answers in recorded_answers(recording, loaded.plan):
        read = answers if alter is None else alter(t, answers, before)
        memory.append(read_tick(loaded.plan, t, read))
        before = answers
        if t >= first - 0.0005:
            yield Computed(t, evaluate(loaded.plan, loaded.rules, memory))


def first_whole_tick(recording: Recording, loaded: LoadedPolicy) -> float:
    """The first tick all of whose memory was recorded: with 60 s of memory at every 15 s the fourth, 45 s in."""
    return recording.recorded.start + (loaded.plan.memory_ticks - 1) * loaded.plan.every


def ticks_in(recording: Recording) -> int:
    """How many ticks were recorded."""
    recorded = recording.recorded
    return round((recorded.end - recorded.start) / recorded.every) + 1
