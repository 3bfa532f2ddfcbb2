"""The poller outlives what nobody foresaw: its task is all that a policy has."""

import asyncio

from adapter import clock
from adapter.board import Board
from adapter.bundled import load_presets
from adapter.core.policy_reading import read_policies
from adapter.core.samples import Answer
from adapter.poller import PolicyPoller
from adapter.telemetry import Telemetry

POLICY = """
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: m, namespace: inference}
spec:
  every: 1s
  memory: 10s
  inputs:
    waiting: {preset: vllm/requests-waiting}
  terms:
    load: {concurrency: waiting, per_replica: 10}
  publish: {metric: m-replicas}
"""


class BrokenOnce:
    """An asker whose first question ends in an exception that no one handles; later ones find nothing."""

    def __init__(self) -> None:
        self.asked = 0

    async def instant(self, *_: object) -> Answer:
        self.asked += 1
        if self.asked == 1:
            raise RuntimeError("not foreseen")
        return Answer()


async def test_a_policy_whose_first_refill_fails_in_an_unforeseen_way_is_evaluated_at_its_next_tick() -> None:
    (loaded,), _ = read_policies(POLICY, "policy.yaml", load_presets())
    board = Board(clock.now)
    board.keep([loaded])
    running = asyncio.create_task(PolicyPoller(loaded, BrokenOnce(), board, Telemetry()).run())  # type: ignore[arg-type]
    async with asyncio.timeout(30):
        while board.account()[0]["reason"] == "starting":
            assert not running.done(), running.exception()
            await asyncio.sleep(0.05)
    running.cancel()
    assert board.account()[0]["reason"] == "empty"
