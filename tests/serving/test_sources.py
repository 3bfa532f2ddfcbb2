"""Sources of a running `scaleproof serve`: their outages, their credentials, and what policies may read from them."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from adapter_process import AdapterProcess, FrontProxy
from child_process import eventually
from fake_prometheus import Behaviour, Exchange, FakePrometheus, answering, failing, fake_prometheus, success
from grid_policies import policy_text

CASES = Path(__file__).parents[1] / "cases"
SECRET = "s3cret-token-0001"
Start = Callable[..., AdapterProcess]


@pytest.fixture
def other() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(30)) as running:
        yield running


@pytest.fixture
def start(tmp_path: Path, folder: Path, prometheus: FakePrometheus, front_proxy: FrontProxy) -> Iterator[Start]:
    """Start the adapter with a configuration file and more flags, and wait until it is ready."""
    started: list[AdapterProcess] = []

    def run(config: str = "", *flags: str) -> AdapterProcess:
        file = tmp_path / "config.yaml"
        file.write_text(config)
        adapter = AdapterProcess(
            tmp_path,
            folder,
            prometheus.url,
            front_proxy.serving,
            front_proxy.serving_authority.certificate_file,
            client=front_proxy.certificate,
            flags=[*front_proxy.flags, f"--config={file}", *flags],
        )
        started.append(adapter)
        adapter.wait_ready()
        return adapter

    yield run
    for adapter in started:
        adapter.close()


def wait_for(adapter: AdapterProcess, name: str, status: int, namespace: str = "prod") -> requests.Response:
    def answer() -> list[requests.Response]:  # an answer that is an error counts as false by itself
        response = adapter.metric(namespace, name)
        return [response] if response.status_code == status else []

    return eventually(answer, f"{name} answers {status}", 20)[0]


def value(response: requests.Response) -> str:
    (item,) = response.json()["items"]
    found: str = item["value"]
    return found


def cause(response: requests.Response) -> str:
    found: str = response.json()["details"]["causes"][0]["reason"]
    return found


def case_answer(case: str, name: str) -> Behaviour:
    """A case's answer, its samples taken at the instant that is asked for."""
    body = json.loads((CASES / case / name).read_text())

    def behave(exchange: Exchange) -> None:
        at = float(exchange.parameters["time"])
        result = [{"metric": one["metric"], "values": [[at, one["value"][1]]]} for one in body["data"]["result"]]
        more = {key: body[key] for key in ("warnings", "infos") if key in body}
        exchange.send(200, success(result, "matrix", **more))

    return behave


def expected(case: str) -> Any:
    return json.loads((CASES / case / "expect.json").read_text())["expected"]


PACE = 5
"""The case's times are divided by this: every 15 s becomes every 3 s, the outage of two minutes 24 s."""


def paced(case: str) -> str:
    text = (CASES / case / "scaleproof.yaml").read_text()
    return re.sub(r"(\d+)s", lambda found: f"{int(found[1]) // PACE}s", text)


@pytest.mark.slow
def test_f1_an_outage_of_two_minutes_ends_by_itself_within_a_tick(
    folder: Path, start: Start, prometheus: FakePrometheus, other: FakePrometheus
) -> None:
    want = expected("F1")
    good = case_answer("F1", "prom.json")
    prometheus.default = good
    (folder / "f1.yaml").write_text(paced("F1"))
    (folder / "b.yaml").write_text(policy_text("b").replace("spec:\n", "spec:\n  source: other\n"))
    adapter = start(f"sources:\n  other: {{url: '{other.url}'}}\n")
    assert value(wait_for(adapter, "f1", 200)) == want["value"]
    wait_for(adapter, "b", 200)

    prometheus.default = failing(503, b"Service Unavailable")
    response = wait_for(adapter, "f1", 503)
    assert want["during"] == "error"
    assert cause(response) == "upstream-error"
    assert "answered 503" in response.json()["message"]
    ends = time.monotonic() + 120 / PACE
    told: list[str] = []
    while time.monotonic() < ends:
        response = adapter.metric("prod", "f1")
        assert response.status_code == 503
        told.append(response.json()["message"])
        assert value(adapter.metric("prod", "b")) == "3"
        assert adapter.get("/readyz").status_code == adapter.get("/livez").status_code == 200
        time.sleep(0.5)
    # Five ticks fail and open it; the ticks whose probe fails tell the failure itself, the others that it is open.
    assert any("circuit open" in message and "answered 503" in message for message in told)
    assert 'scaleproof_source_circuit_open{source="default"} 1.0' in adapter.own_metrics()

    prometheus.default = good
    back = time.time()
    response = wait_for(adapter, "f1", 200)
    assert value(response) == want["value"]
    # Back at 180 s, served from 195 s on, so no later than with the second tick.
    assert float(response.headers["X-Scaleproof-Tick"]) - back <= 2 * 15 / PACE + 2
    assert 'scaleproof_source_circuit_open{source="default"} 0.0' in adapter.own_metrics()


@pytest.mark.slow
def test_f4_a_partial_answer_is_never_a_value_and_a_hint_is_no_fault(
    folder: Path, start: Start, prometheus: FakePrometheus
) -> None:
    want = expected("F4")
    prometheus.default = case_answer("F4", "prom.json")
    (folder / "f4.yaml").write_text(paced("F4"))
    adapter = start()
    response = wait_for(adapter, "f4", 503)
    eventually(lambda: cause(adapter.metric("prod", "f4")) == "partial", "the answer is told to be partial", 20)
    response = adapter.metric("prod", "f4")
    assert "error" in want["prom.json"]["either"]
    assert "store cluster-b not reachable" in response.json()["message"]
    assert re.search(r'scaleproof_queries_total\{outcome="partial"\} [1-9]', adapter.own_metrics())

    prometheus.default = case_answer("F4", "prom-info.json")
    assert value(wait_for(adapter, "f4", 200)) == want["prom-info.json"]


def test_a_policy_asks_the_source_that_it_names_as_its_own_tenant(
    folder: Path, start: Start, prometheus: FakePrometheus, other: FakePrometheus, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(SECRET)
    (folder / "a.yaml").write_text(policy_text("a"))
    (folder / "b.yaml").write_text(policy_text("b").replace("spec:\n", "spec:\n  source: other\n"))
    (folder / "c.yaml").write_text(policy_text("c").replace("spec:\n", "spec:\n  source: nosuch\n"))
    adapter = start(
        "sources:\n"
        "  other:\n"
        f"    url: {other.url}\n"
        f"    bearer-token-file: {token}\n"
        "    headers: {X-Scope-OrgID: 'tenant-{namespace}'}\n"
        "    parameters: {partial_response: 'false'}\n"
    )
    # 70 ÷ 10 from the one, 30 ÷ 10 from the other.
    assert (value(wait_for(adapter, "a", 200)), value(wait_for(adapter, "b", 200))) == ("7", "3")
    parameters, headers = other.asked[0]
    assert (headers["authorization"], headers["x-scope-orgid"]) == (f"Bearer {SECRET}", "tenant-prod")
    assert parameters["partial_response"] == "false"
    assert all("authorization" not in found for _, found in prometheus.asked)
    assert wait_for(adapter, "c", 404).status_code == 404
    log = adapter.log()
    assert re.search(r"policy-problem.*c\.yaml:5:11: error: spec\.source: no source is called", log)
    explained = {one["policy"]: (one["source"], one["queries"]) for one in adapter.explain()}
    assert explained == {
        "a": ("default", ['load{namespace=~"prod|"}[120s]']),
        "b": ("other", ['load{namespace=~"prod|"}[120s]']),
    }


@pytest.mark.slow
def test_no_secret_is_told_anywhere_when_a_source_refuses_it(
    folder: Path, start: Start, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(SECRET)

    def repeat(exchange: Exchange) -> None:
        sent = exchange.headers["Authorization"]
        exchange.send(403, json.dumps({"status": "error", "error": f"forbidden: {sent}"}).encode())

    (folder / "a.yaml").write_text(policy_text("a"))
    prometheus.default = repeat
    adapter = start("", f"--prometheus-bearer-token-file={token}", "--prometheus-headers=X-Scope-OrgID={namespace}")
    eventually(lambda: "forbidden" in adapter.metric("prod", "a").text, "the refusal is told", 20)
    assert prometheus.asked[0][1]["x-scope-orgid"] == "prod"
    prometheus.default = failing(302, b"", Location=f"http://login.example/?token={SECRET}")
    eventually(lambda: "redirects" in adapter.metric("prod", "a").text, "the redirect is told", 20)
    told = adapter.metric("prod", "a").text + adapter.own_metrics() + json.dumps(adapter.explain()) + adapter.log()
    assert "forbidden: Bearer ***" in adapter.log()
    assert SECRET not in told
    token.write_text("another-token")
    prometheus.default = answering(50)
    assert value(wait_for(adapter, "a", 200)) == "5"
    assert prometheus.asked[-1][1]["authorization"] == "Bearer another-token"


def test_a_policy_reads_its_own_namespace_and_one_that_tries_another_is_refused(
    folder: Path, start: Start, prometheus: FakePrometheus
) -> None:
    (folder / "a.yaml").write_text(policy_text("a", "sum(load) / on () group_left () count(load offset 5m)"))
    (folder / "b.yaml").write_text(policy_text("b", "load{namespace='other'}"))
    (folder / "c.yaml").write_text(policy_text("c", "load{namespace='shared'}"))
    adapter = start("tenancy: own\nalso-reads: {prod: [shared]}\n")
    wait_for(adapter, "a", 200)
    wait_for(adapter, "c", 200)
    assert adapter.metric("prod", "b").status_code == 404
    found = (
        r"policy-problem.*b\.yaml:9:26: error: spec\.inputs\.load\.query: .*may read beyond the namespaces prod, shared"
    )
    assert re.search(found, adapter.log())
    own = 'sum(load{namespace="prod"}) / on () group_left () count(load{namespace="prod"} offset 5m)'
    assert {" ".join(query.split()).partition("[")[0] for query in prometheus.seen} == {own, "load{namespace='shared'}"}


def test_the_same_question_of_two_policies_is_asked_once_a_tick(
    folder: Path, start: Start, prometheus: FakePrometheus
) -> None:
    for name in ("a", "b", "c"):
        (folder / f"{name}.yaml").write_text(policy_text(name))
    adapter = start()
    for name in ("a", "b", "c"):
        wait_for(adapter, name, 200)
    asked = [(found["query"], found["time"]) for found, _ in list(prometheus.asked)]
    assert len(asked) == len(set(asked))
    assert re.search(r'scaleproof_source_shared_answers_total\{source="default"\} [1-9]', adapter.own_metrics())


@pytest.mark.slow
def test_a_flood_of_series_for_one_policy_leaves_the_others_alone(
    folder: Path, start: Start, prometheus: FakePrometheus
) -> None:
    flood = success([{"metric": {"pod": f"p{number}"}, "values": [[1, "1"]]} for number in range(100_000)], "matrix")
    prometheus.behaviours["flood"] = lambda exchange: exchange.send(200, flood)
    (folder / "a.yaml").write_text(policy_text("a", "flood").replace("every: 1s", "every: 5s"))
    (folder / "b.yaml").write_text(policy_text("b").replace("every: 1s", "every: 5s"))
    adapter = start()
    eventually(lambda: "at most 50000 are read" in adapter.metric("prod", "a").text, "the flood is refused", 20)
    assert value(wait_for(adapter, "b", 200)) == "7"
    assert adapter.get("/readyz").status_code == 200
