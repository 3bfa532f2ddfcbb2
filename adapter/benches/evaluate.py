"""The bench "evaluate": signals of a fleet per CPU second of one core, from the HTTP answer to the rendered bytes.

One policy with 10,000 groups and a memory of 40 ticks; each piece of work is a whole tick: the query over HTTP, JSON,
readings, demand, the account of each signal, and the rendering on the board. Beside it the floor (the answer fetched
and decoded, nothing else) and how many policies are checked and loaded. The server is a process of its own.
"""

import http.server
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import requests

from adapter.board import Board
from adapter.bundled import load_presets, policies_folder
from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.samples import Answer, Sample, Series, labels_of
from adapter.core.ticks import Tick, read_tick
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource
from sim.measurements import Measurement, take

SIGNALS = 10_000
COUNTED_SIGNALS = 100  # those whose memory is counted
SAMPLES = 8  # a look-back of 120 s at a scrape of 15 s
T = 1_800_000_000.0
QUERY_SECONDS = 30.0
POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: fleet, namespace: bench}
spec:
  by: [model]
  inputs: {queue: {query: queue, unit: count}}
  terms: {batch: {concurrency: queue, per_replica: 10}}
  publish: {metric: fleet-replicas}
"""


def measure(seconds: float) -> list[Measurement]:
    """Signals per CPU second, the floor, and policies loaded per CPU second."""
    library = load_presets()
    (loaded,), _ = read_policies(POLICY, "fleet.yaml", library)
    held = max(held_bytes_per_signal(loaded))
    with TemporaryDirectory() as name, _running_server(Path(name)) as url:
        source = PrometheusSource(url)
        with closing(source):
            signals = take("evaluate", f"{SIGNALS:,} signals a tick", seconds, _tick_work(loaded, source))
            floor = take("floor", "floor: HTTP and JSON alone", seconds, lambda: _fetch_and_decode(url))
    text = (policies_folder() / "llama-70b.yaml").read_text(encoding="utf-8")

    def load() -> int:
        found, _ = read_policies(text, "llama-70b.yaml", library)
        return len(found)

    return [
        replace(signals, bytes_per_signal=held),
        floor,
        take("policies", "policies checked and loaded", seconds, load),
    ]


def held_bytes_per_signal(loaded: LoadedPolicy) -> tuple[int, int]:
    """Bytes that stay for each signal once the memory of ticks is full, and after as many ticks more: it is bounded.

    Counted by the interpreter, apart from the timed rounds, which it would slow; the answers are made here.
    """
    plan, board = loaded.plan, Board(lambda: T)
    board.keep([loaded])
    ticks: list[Tick] = []
    found = []
    tracemalloc.start()
    try:
        for k in range(2 * plan.memory_ticks):
            t = T + k * plan.every
            ticks.append(read_tick(plan, t, {query: _made_answer(t - plan.offset) for query, _ in plan.queries}))
            del ticks[: -plan.memory_ticks]
            board.publish(loaded, t, evaluate(plan, loaded.rules, ticks))
            if (k + 1) % plan.memory_ticks == 0:
                found.append(tracemalloc.get_traced_memory()[0] // COUNTED_SIGNALS)
    finally:
        tracemalloc.stop()
    return found[0], found[1]


def _made_answer(instant: float) -> Answer:
    def labels(i: int) -> dict[str, str]:
        return {"model": f"m{i}", "pod": f"m{i}-0", "namespace": "bench", "job": "vllm"}

    def samples(i: int) -> tuple[Sample, ...]:
        return tuple(Sample(float(i % 50), instant - 15 * age) for age in reversed(range(SAMPLES)))

    return Answer(tuple(Series(labels_of(labels(i)), samples(i)) for i in range(COUNTED_SIGNALS)))


def _tick_work(loaded: LoadedPolicy, source: PrometheusSource) -> Callable[[], int]:
    board = Board(lambda: T)
    board.keep([loaded])
    ticks: list[Tick] = []

    def work() -> int:
        plan = loaded.plan
        answers = {
            query: source.instant(plan.asked(query, is_raw), T, Deadline(QUERY_SECONDS))
            for query, is_raw in plan.queries
        }
        ticks.append(read_tick(plan, T + plan.offset, answers))
        del ticks[: -plan.memory_ticks]
        groups = evaluate(plan, loaded.rules, ticks)
        board.publish(loaded, T, groups)
        return len(groups)

    return work


def _fetch_and_decode(url: str) -> int:
    with requests.get(f"{url}/api/v1/query", timeout=QUERY_SECONDS) as answer:
        return len(json.loads(answer.content)["data"]["result"])


@contextmanager
def _running_server(folder: Path) -> Iterator[str]:
    """A process that answers every request with the same 10,000 series."""
    series = [
        {
            "metric": {"__name__": "queue", "model": f"m{i}", "pod": f"m{i}-0", "namespace": "bench", "job": "vllm"},
            "values": [[T - 15 * age, str(i % 50)] for age in reversed(range(SAMPLES))],
        }
        for i in range(SIGNALS)
    ]
    body = folder / "body.json"
    body.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}))
    command = [sys.executable, "-m", "adapter.benches.evaluate", str(body)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own module
        try:
            if server.stdout is None:
                raise RuntimeError("the server of the bench has no output")
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


def _serve(body: bytes) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        print(server.server_address[1], flush=True)  # noqa: T201 - told to whoever started us
        server.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]).read_bytes())
