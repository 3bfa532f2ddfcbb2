"""The answers of a recording tick by tick, as the policy's poller would cut them out of a refill.

For whoever computes again what was served: replicas and pods are the recorded ones here, and no HPA is simulated.
"""

from collections.abc import Iterator, Mapping

from adapter.core.plans import PolicyPlan
from adapter.core.samples import Answer
from sim.replay.playback import SAME_INSTANT_SECONDS, Played
from sim.traces.recording import Recording


def recorded_answers(recording: Recording, plan: PolicyPlan) -> Iterator[tuple[float, Mapping[str, Answer]]]:
    """(tick, query → answer) for each tick of the recording; what was not recorded has no series."""
    recorded = recording.recorded
    every, zero = recorded.every, recording.header.epoch or 0.0
    played = Played(recording, zero, max(plan.lookback, recorded.lookback) + every)
    for k in range(round(recorded.start / every), round(recorded.end / every) + 1):
        instant = k * every - recorded.offset
        played.advance(instant)
        yield (
            k * every,
            {
                query: played.answer(query, instant, plan.lookback if is_raw else SAME_INSTANT_SECONDS)
                for query, is_raw in plan.queries
            },
        )
