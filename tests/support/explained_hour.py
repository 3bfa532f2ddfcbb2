"""An hour that somebody wants explained: a board on which three policies have published for 240 ticks of 15 s.

`prod/chat` follows its load, loses Prometheus for three minutes, and is held by a guard at the end; `prod/fleet` has a
signal for each of 30 models, of which one reports nothing; `prod/refused` is refused by a Prometheus whose message is
hostile HTML. The board's clock stands at T, the last tick.
"""

from collections.abc import Sequence

from policy_world import LIBRARY, T, one, replicas, tick

from adapter.board import Board
from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Series
from adapter.core.ticks import Tick

TICKS = 240
EVERY = 15
HOSTILE = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: {name}, namespace: prod}}
spec:
"""

CHAT = """\
  memory: 10m
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs:
    load: {query: in_flight, unit: count, per: [pod]}
    gpu: {query: gpu, unit: percent, per: [pod], role: gpu}
    vram: {query: vram, unit: percent, per: [pod]}
    cache: {query: cache, unit: bytes, per: [pod]}
  terms:
    batch: {concurrency: load, per_replica: 10}
    compute: {utilization: gpu, target: 70%}
  guards:
    - {hold_scale_down: {when: "vram > 95%", for: 5m, max: 30m}}
  publish: {metric: chat-replicas, ceiling: 32}
"""

FLEET = """\
  memory: 1m
  by: {{model: [{models}]}}
  inputs: {{load: {{query: in_flight, unit: count, per: [pod]}}}}
  terms: {{batch: {{concurrency: load, per_replica: 10}}}}
  publish: {{metric: fleet-replicas}}
"""

REFUSED = """\
  inputs: {load: {query: in_flight, unit: count}}
  terms: {batch: {concurrency: load, per_replica: 10}}
  publish: {metric: refused-replicas}
"""

MODELS = [f"m{number:02}" for number in range(30)]


def load_at(k: int) -> float:
    """Requests in flight: 30, rising to 90 in the middle of the hour, then falling to 20."""
    return 30 + k / 2 if k < 120 else 90 - (k - 120) * 7 / 12


def replicas_at(k: int) -> int:
    """What the HPA made of it two minutes later; from tick 200 on a guard holds."""
    return -(-int(load_at(min(max(0, k - 8), 192)) * 100) // 1000)


def chat_series(k: int, at: float) -> list[Series]:
    """What the exporters of `chat` say at a tick."""
    count = replicas_at(k)
    pods = [f"d-{number}" for number in range(count)]
    found = replicas(count, count, *pods, at=at)
    for pod in pods:
        labels = {"namespace": "prod", "pod": pod}
        found += [
            one("in_flight", round(load_at(k) / count, 3), at=at, **labels),
            one("gpu", min(100.0, round(load_at(k) / count * 6.5, 1)), at=at, **labels),
            one("vram", 97.0 if k >= 200 else 81.0, at=at, **labels),
            one("cache", 12.5 * 2**30, at=at, **labels),
        ]
    return found


def read(name: str, spec: str) -> LoadedPolicy:
    loaded, problems = read_policies(POLICY.format(name=name) + spec, f"{name}.yaml", LIBRARY)
    if len(loaded) != 1:
        raise AssertionError(problems)
    return loaded[0]


def explained_hour() -> Board:
    """The board at the end of the hour."""
    chat, fleet, refused = (
        read("chat", CHAT),
        read("fleet", FLEET.format(models=", ".join(MODELS))),
        read("refused", REFUSED),
    )
    board = Board(lambda: T)
    board.keep([chat, fleet, refused])
    windows: dict[str, list[Tick]] = {"chat": [], "fleet": [], "refused": []}
    down = {"in_flight": Missing(Reason.UPSTREAM_ERROR, "prometheus:9090 answered with status 503")}
    no = {"in_flight": Missing(Reason.UPSTREAM_REJECTED, f"prometheus:9090 refused the query: {HOSTILE}")}
    for k in range(TICKS):
        t = T - (TICKS - 1 - k) * EVERY
        at = t - chat.plan.offset
        is_down = 100 <= k < 112
        failing = {**down, "gpu": down["in_flight"], "vram": down["in_flight"]} if is_down else None
        seen = tick(chat, chat_series(k, at), t=t, failing=failing)
        _publish(board, chat, windows["chat"], seen)
        if k % 20 == 19:
            models = [one("in_flight", 3 * n + k / 10, at=at, model=model) for n, model in enumerate(MODELS[:-1])]
            _publish(board, fleet, windows["fleet"], tick(fleet, models, t=t))
            _publish(board, refused, windows["refused"], tick(refused, [], t=t, failing=no))
    return board


def _publish(board: Board, loaded: LoadedPolicy, window: list[Tick], seen: Tick) -> None:
    window.append(seen)
    del window[: -loaded.plan.memory_ticks]
    newest: Sequence[Tick] = window
    board.publish(loaded, seen.t, evaluate(loaded.plan, loaded.rules, newest))
