"""What a real adapter answered to 320 requests, asked again of this one; see tests/protocol/README.md."""

import asyncio
import json
import re
import ssl
from fnmatch import fnmatch
from pathlib import Path

import yaml
from api_fakes import HPA, FakeApiServer, FakeMetrics
from api_serving import AS_OF_SECONDS, QUEUE, Cluster, serving
from certificates import Authority
from raw_http import Connection, client_context

from adapter.core.external_metrics import MetricValue
from adapter.reviews import MASTERS, Identity

DATA = Path(__file__).parents[1] / "protocol"
PODS = [
    MetricValue(
        "queue_by_pod",
        {"model_name": "ab"[number % 2], "pod": f"llm-{number:02}", "namespace": "default"},
        AS_OF_SECONDS,
        "2",
    )
    for number in range(50)
]

VALUES = {
    "queue_ns": "100",
    "queue_scalar": "42",
    "DCGM_FI_DEV_GPU_UTIL": "46259m",
    "big_500": "500",
    "big_1000": "1k",
    **{f"special_{name}": "7" for name in ("big", "frac", "tiny", "zero", "int", "kilo", "giga")},
}
REFUSED = {
    "special_nan": "not-a-number",
    "special_inf": "infinite",
    "special_ninf": "infinite",
    "special_over": "too-large",
    "special_under": "too-large",
    "special_neg": "negative",
    "queue_empty": "empty",
    "queue_range": "upstream-rejected",
    "queue_badquery": "upstream-rejected",
}


async def exchange(port: int, case: dict, context: ssl.SSLContext) -> tuple[int, str | None, str | None]:
    """Code, kind and reason of the answer; (0, None, None) if the connection ends without one."""
    data = "\r\n".join([*case["request"], "", case.get("payload", "")]).encode()
    connection = await Connection.open(port, context)
    try:
        answer = await connection.send(data, is_head=case["request"][0].startswith("HEAD "))
    except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
        return 0, None, None
    finally:
        await connection.close()
    if answer.headers.get("content-type", "").startswith("application/json") and answer.body:
        return answer.status, answer.json.get("kind"), answer.json.get("reason")
    return answer.status, None, None


async def answers_that_differ(folder: Path, cases: list[dict]) -> dict[str, str]:
    """The cases whose code, kind or reason is not that of the real adapter, and how."""
    cluster = Cluster(folder)
    contexts = {
        "none": client_context(),
        "proxy": cluster.front_proxy,
        "wrongcn": cluster.context(cluster.front_proxy_ca, "somebody"),
        "wrongca": cluster.context(Authority("unknown"), "front-proxy-client"),
        "admin": cluster.context(cluster.cluster_ca, "admin", (MASTERS,)),
        "bob": cluster.context(cluster.cluster_ca, "bob"),
    }
    api_server = FakeApiServer(cluster.config_map, readers=(HPA,))
    api_server.tokens["TOKEN"] = Identity(HPA)
    values = {("default", name): [MetricValue(name, {}, AS_OF_SECONDS, value)] for name, value in VALUES.items()}
    metrics = FakeMetrics({**QUEUE, **values, ("default", "queue_by_pod"): PODS}, refused=REFUSED)
    differ: dict[str, str] = {}
    async with serving(api_server, metrics) as running:
        for case in cases:
            expected = (case["code"], case.get("kind"), case.get("reason"))
            found = await exchange(running.port, case, contexts[case["certificate"]])
            if case.get("protobuf"):  # the body was protobuf and told its kind, but the reason was not read
                expected, found = expected[:2], found[:2]
            if found != expected:
                differ[case["case"]] = f"{expected} but here {found}"
    return differ


async def test_every_answer_is_that_of_a_real_adapter_but_for_the_listed_deviations(tmp_path: Path) -> None:
    cases = [json.loads(line) for line in (DATA / "prometheus-adapter.jsonl").read_text().splitlines()]
    deviations = yaml.safe_load((DATA / "deviations.yaml").read_text())
    differ = await answers_that_differ(tmp_path, cases)
    unlisted = {case: how for case, how in differ.items() if not any(fnmatch(case, pattern) for pattern in deviations)}
    assert unlisted == {}
    listed_in_vain = {
        (pattern, case["case"])
        for pattern in deviations
        for case in cases
        if fnmatch(case["case"], pattern) and case["case"] not in differ
    }
    assert listed_in_vain == set()
    assert {pattern for pattern in deviations if not any(fnmatch(case, pattern) for case in differ)} == set()
    assert len(cases) == 320


def test_every_deviation_has_a_reason() -> None:
    deviations = yaml.safe_load((DATA / "deviations.yaml").read_text())
    assert all(re.search(r"\w+ .*\w+ \w+", reason) for reason in deviations.values())
