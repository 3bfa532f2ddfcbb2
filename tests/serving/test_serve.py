"""`scaleproof serve` as a process: what it serves, refuses and survives."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from adapter_process import SCALEPROOF, AdapterProcess, FrontProxy
from child_process import eventually, free_port
from fake_prometheus import Exchange, FakePrometheus, answering, failing, hanging, success
from grid_policies import policy_text

from adapter.core.external_metrics import rfc3339

CASES = Path(__file__).parents[1] / "cases"
Serve = Callable[[], AdapterProcess]


def wait_for(adapter: AdapterProcess, name: str, status: int) -> requests.Response:
    def answer() -> list[requests.Response]:  # an answer that is an error counts as false by itself
        response = adapter.metric("prod", name)
        return [response] if response.status_code == status else []

    return eventually(answer, f"{name} answers {status}", 20)[0]


def cause(response: requests.Response) -> str:
    body = response.json()
    assert body["kind"] == "Status"
    assert body["reason"] == "ServiceUnavailable"
    found: str = body["details"]["causes"][0]["reason"]
    return found


def counter(adapter: AdapterProcess, line: str) -> float:
    found = re.search(rf"^{re.escape(line)} (\S+)$", adapter.own_metrics(), re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def test_a_policy_is_served_with_its_tick_and_the_time_of_its_sample(folder: Path, serve: Serve) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    response = wait_for(serve(), "a", 200)
    tick = float(response.headers["X-Scaleproof-Tick"])
    (item,) = response.json()["items"]
    # 70 ÷ 10 = 7; the fake's samples are as old as the instant asked for, which is the tick less the offset of 2 s.
    assert item == {"metricName": "a", "metricLabels": {}, "timestamp": rfc3339(tick - 2), "value": "7"}


HOURLY = policy_text("a").replace("every: 1s", "every: 1h").replace("10s", "2h")


def test_before_the_first_evaluation_every_answer_is_starting(
    folder: Path, serve: Serve, prometheus: FakePrometheus
) -> None:
    prometheus.default = hanging
    (folder / "a.yaml").write_text(HOURLY)
    adapter = serve()
    response = adapter.metric("prod", "a")
    assert (response.status_code, cause(response)) == (503, "starting")
    assert adapter.get("/apis/external.metrics.k8s.io/v1beta1").status_code == 200
    assert adapter.get("/readyz").status_code == 200


def test_the_tick_that_is_due_at_the_start_is_served_at_once_as_the_other_replica_serves_it(
    folder: Path, serve: Serve
) -> None:
    (folder / "a.yaml").write_text(HOURLY)
    first, second = (wait_for(serve(), "a", 200) for _ in range(2))
    tick = float(first.headers["X-Scaleproof-Tick"])
    assert (tick % 3600, first.json()["items"][0]["timestamp"]) == (0, rfc3339(tick - 2))
    assert first.content == second.content


def test_a_prometheus_that_nobody_listens_at_is_an_error_of_its_signals_alone(
    folder: Path, tmp_path: Path, front_proxy: FrontProxy
) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = AdapterProcess(
        tmp_path,
        folder,
        f"http://reader:hunter2@127.0.0.1:{free_port()}",
        front_proxy.serving,
        front_proxy.serving_authority.certificate_file,
        client=front_proxy.certificate,
        flags=[*front_proxy.flags, "--log-level=debug", "--log-format=json"],
    )
    try:
        adapter.wait_ready()
        eventually(lambda: cause(adapter.metric("prod", "a")) == "upstream-error", "the reason is Prometheus's", 20)
        assert adapter.get("/apis/external.metrics.k8s.io/v1beta1").status_code == 200
        assert adapter.get("/readyz").status_code == 200
        lines = [json.loads(line) for line in adapter.child.output().splitlines() if line.startswith("{")]
        (told,) = [line for line in lines if line["event"] == "no-signal"]
        assert (told["level"], told["policy"], told["reason"]) == ("warning", "prod/a", "upstream-error")
        assert told["input_load"] == "upstream-error"
        everything = adapter.child.output() + adapter.own_metrics() + json.dumps(adapter.explain())
        assert "hunter2" not in everything
    finally:
        adapter.close()


def test_queries_are_asked_for_the_grid_less_the_offset_and_never_before_it_is_due(
    folder: Path, serve: Serve, prometheus: FakePrometheus
) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    wait_for(serve(), "a", 200)
    assert all(time == int(time) for time in prometheus.times)
    tick, memory = 'load{namespace=~"prod|"}[120s]', 'load{namespace=~"prod|"}[128s]'
    assert [query for query in prometheus.seen if query != tick] == [memory]  # once more for the memory


def test_the_account_says_how_the_value_came_about(folder: Path, serve: Serve) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    wait_for(adapter, "a", 200)
    (signal,) = adapter.explain()
    assert (signal["policy"], signal["metric"], signal["value"]) == ("a", "a", "7")
    assert signal["why"]["terms"][0]["text"] == "load ÷ 10 = 70 ÷ 10 = 7"
    assert 'scaleproof_signal_value{namespace="prod",policy="a"} 7.0' in adapter.own_metrics()


def test_a_signal_that_its_ceiling_cuts_is_shown_as_such(folder: Path, serve: Serve) -> None:
    # 70 ÷ 10 = 7 replicas: one more than a ceiling of 6 allows, and just what one of 7 does.
    for name, ceiling in (("cut", 6), ("fits", 7)):
        (folder / f"{name}.yaml").write_text(policy_text(name).replace("{metric:", f"{{ceiling: {ceiling}, metric:"))
    adapter = serve()
    for name, value in (("cut", "6"), ("fits", "7")):
        assert wait_for(adapter, name, 200).json()["items"][0]["value"] == value
    assert counter(adapter, 'scaleproof_signal_at_ceiling{namespace="prod",policy="cut"}') == 1
    assert counter(adapter, 'scaleproof_signal_at_ceiling{namespace="prod",policy="fits"}') == 0


@pytest.mark.slow
def test_f2_a_server_that_never_answers_is_an_error_for_its_policy_alone(
    folder: Path, serve: Serve, prometheus: FakePrometheus
) -> None:
    want: dict[str, Any] = json.loads((CASES / "F2/expect.json").read_text())["expected"]
    assert want["a"].startswith("error")
    prometheus.behaviours["hangs"] = hanging
    (folder / "a.yaml").write_text(policy_text("a", "hangs"))
    (folder / "b.yaml").write_text(policy_text("b"))
    adapter = serve()
    wait_for(adapter, "b", 200)

    def threads() -> int:
        return int(re.search(r"Threads:\s+(\d+)", Path(f"/proc/{adapter.child.process.pid}/status").read_text())[1])  # type: ignore[index]

    eventually(lambda: cause(adapter.metric("prod", "a")) == "upstream-timeout", "a is a time-out", 20)
    before = threads()
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: adapter.metric("prod", "a"), range(100)))
        assert adapter.metric("prod", "b").status_code == 200
    assert {(answer.status_code, cause(answer)) for answer in answers} == {(503, "upstream-timeout")}
    assert threads() <= before + 2
    assert adapter.stop() == 0


@pytest.mark.slow
def test_an_outage_is_told_and_ends_without_a_restart(folder: Path, serve: Serve, prometheus: FakePrometheus) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    wait_for(adapter, "a", 200)
    prometheus.default = failing(503)
    response = wait_for(adapter, "a", 503)
    assert cause(response) == "upstream-error"
    assert "503" in response.json()["message"]
    assert adapter.get("/readyz").status_code == 200
    assert "scaleproof_signal_value{" not in adapter.own_metrics()
    assert counter(adapter, 'scaleproof_no_signal_total{namespace="prod",policy="a",reason="upstream-error"}') >= 1
    prometheus.default = answering(50)
    assert wait_for(adapter, "a", 200).json()["items"][0]["value"] == "5"


def test_a_prometheus_that_is_down_at_the_start_is_waited_for(
    folder: Path, serve: Serve, prometheus: FakePrometheus
) -> None:
    prometheus.default = failing(503)
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    wait_for(adapter, "a", 503)
    prometheus.default = answering(50)
    wait_for(adapter, "a", 200)


@pytest.mark.slow
def test_a_broken_file_keeps_the_last_good_version_and_is_counted_once(folder: Path, serve: Serve) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    wait_for(adapter, "a", 200)
    assert counter(adapter, "scaleproof_policy_reload_errors_total") == 0
    (folder / "a.yaml").write_text(policy_text("a").replace("unit: count", "unit: pounds"))
    (folder / "b.yaml").write_text(policy_text("b"))
    wait_for(adapter, "b", 200)
    eventually(lambda: counter(adapter, "scaleproof_policy_reload_errors_total") == 1, "the broken file is counted", 10)
    assert adapter.metric("prod", "a").status_code == 200
    assert "a.yaml:9:" in adapter.child.output()
    (folder / "a.yaml").unlink()
    wait_for(adapter, "a", 404)
    assert counter(adapter, "scaleproof_policy_reload_errors_total") == 1


@pytest.mark.slow
def test_a_term_ends_with_readyz_503_and_status_0(folder: Path, serve: Serve) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    wait_for(adapter, "a", 200)
    adapter.child.process.terminate()
    eventually(lambda: adapter.get("/readyz").status_code == 503, "readyz says 503", 3)
    assert adapter.child.process.wait(15) == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--policies=/nowhere"], "/nowhere does not exist"),
        (["--prometheus=ftp://x"], "--prometheus"),
        (["--bind-address=0.0.0.0", "--authorization-mode=AlwaysAllow"], "loopback"),
    ],
    ids=["folder", "url", "always-allow"],
)
def test_what_cannot_be_served_is_refused_with_words_and_status_2(
    folder: Path, flags: list[str], words: str, tmp_path: Path
) -> None:
    known = {
        "--policies": folder,
        "--prometheus": "http://127.0.0.1:1",
        "--bind-address": "127.0.0.1",
        "--secure-port": 0,
        "--metrics-bind-address": "127.0.0.1:0",
        "--authorization-mode": "AlwaysAllow",
    }
    known.update(flag.split("=") for flag in flags)
    command = [str(SCALEPROOF), "serve", *[f"{name}={value}" for name, value in known.items()]]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert ended.returncode == 2, ended
    assert words in ended.stderr


def test_front_proxy_identities_need_no_api_server_and_others_are_refused_without_one(
    folder: Path, tmp_path: Path, prometheus: FakePrometheus, front_proxy: FrontProxy
) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = AdapterProcess(
        tmp_path,
        folder,
        prometheus.url,
        front_proxy.serving,
        front_proxy.serving_authority.certificate_file,
        client=front_proxy.certificate,
        flags=[flag for flag in front_proxy.flags if "authorization-mode" not in flag],
    )
    try:
        adapter.wait_ready()
        wait_for(adapter, "a", 200)  # as system:masters, who needs no review
        path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/prod/a"
        refused = adapter.get(path, user="bob", group="system:authenticated")
        assert (refused.status_code, refused.json()["kind"]) == (500, "Status")
        assert adapter.get("/readyz").status_code == 200
    finally:
        adapter.close()


@pytest.mark.slow
def test_a_fleet_of_thousands_is_evaluated_beside_the_answering(
    folder: Path, serve: Serve, prometheus: FakePrometheus
) -> None:
    def fleet(exchange: Exchange) -> None:
        at = float(exchange.parameters["time"])
        values = [[at - 15 * age, "70"] for age in reversed(range(20))]
        exchange.send(200, success([{"metric": {"model": f"m{n}"}, "values": values} for n in range(2000)], "matrix"))

    prometheus.behaviours["fleet"] = fleet
    text = policy_text("fleet", "fleet").replace("[instance]", "[model]").replace("spec:\n", "spec:\n  by: [model]\n")
    (folder / "fleet.yaml").write_text(text.replace("every: 1s", "every: 5s").replace("memory: 10s", "memory: 100s"))
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    wait_for(adapter, "a", 200)
    # Its memory of 20 ticks of 2,000 series is read meanwhile: seconds of work, of which no answer waits for more than
    # a piece. On the event loop it would be a tick's whole memory at once.
    waits = []

    def values() -> list[str]:
        began = time.monotonic()
        assert adapter.metric("prod", "a").status_code == 200
        waits.append(time.monotonic() - began)
        answer = adapter.metric("prod", "fleet", "model=m1999")
        return [answer.json()["items"][0]["value"]] if answer.status_code == 200 else []

    assert eventually(values, "the fleet is served", 120) == ["7"]
    print(f"{len(waits)} answers beside the start of a fleet, the slowest after {max(waits):.2f} s")
    assert len(waits) > 10
