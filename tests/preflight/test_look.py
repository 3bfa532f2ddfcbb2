"""What `preflight` says of clusters in all the states that an operator meets, each a table of answers."""

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from fake_cluster import FakeCluster, api_service, healthy
from policy_world import LIBRARY

from adapter.core.reasons import Missing, Reason
from adapter.kube_objects import Refused
from adapter.preflight.findings import Finding, exit_status
from adapter.preflight.look import API_SERVICE, Means, Wanted, look
from adapter.preflight.rights import AUTHENTICATION_CONFIG
from sim.policy_hpa_lints import lint_together

HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"
CONFIG_MAP = "/api/v1/namespaces/scaleproof-system/configmaps/scaleproof-policies"
SIGNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/inference/chat-replicas"
POLICY = """
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: chat, namespace: inference}
spec:
  replicas: {preset: kube/deployment-replicas, match: {deployment: chat}}
  inputs:
    flight: {preset: vllm/requests-in-flight, match: {model_name: chat}}
  terms:
    batch: {concurrency: flight, per_replica: 10}
  publish: {metric: chat-replicas}
"""
NOW = 1_800_000_000.0

Findings = dict[str, Finding]


async def preflight(
    objects: dict[str, Any],
    forbidden: frozenset[tuple[str, str]] = frozenset(),
    prometheus: Missing | None = None,
    policies: tuple[Path, ...] = (),
) -> list[Finding]:
    wanted = Wanted("scaleproof-system", policies, "http://prometheus:9090", NOW)
    means = Means(LIBRARY, lint_together, lambda _url: prometheus)
    return await look(FakeCluster(objects, forbidden), wanted, means)


def by_check(findings: list[Finding]) -> Findings:
    return {one.check: one for one in findings}


def hpa(name: str, metric: str, *, tolerance: str | None = "0", kind: str = "AverageValue") -> dict[str, Any]:
    rules = {} if tolerance is None else {"tolerance": tolerance}
    field = {"AverageValue": "averageValue", "Value": "value"}[kind]
    return {
        "metadata": {"name": name, "namespace": "inference", "resourceVersion": "7", "managedFields": [{}]},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 1,
            "maxReplicas": 8,
            "metrics": [
                {"type": "External", "external": {"metric": {"name": metric}, "target": {"type": kind, field: "1"}}}
            ],
            "behavior": {"scaleUp": rules, "scaleDown": {**rules, "stabilizationWindowSeconds": 300}},
        },
        "status": {"currentReplicas": 1},
    }


def installed(*hpas: dict[str, Any], policy: str = POLICY) -> dict[str, Any]:
    """An installation with a policy that is served, and HPAs."""
    return {
        **healthy(),
        CONFIG_MAP: {"data": {"chat.yaml": policy}},
        HPAS: {"items": list(hpas)},
        SIGNAL: {"items": [{"value": "3400m"}]},
    }


async def test_an_installation_in_which_everything_fits_has_nothing_to_mend() -> None:
    findings = await preflight(installed(hpa("chat", "chat-replicas")))
    assert {one.check: one.verdict for one in findings} == dict.fromkeys(
        (
            "kubernetes-version",
            "authentication-config",
            "api-service-owner",
            "api-service-available",
            "api-service-certificate",
            "adapter-rights",
            "prometheus",
            "policies",
            "autoscalers",
            "metric-readers",
            "signals",
        ),
        "ok",
    )
    assert [one.fix for one in findings] == [""] * len(findings)
    assert by_check(findings)["signals"].found == "served: inference/chat-replicas 3400m"
    assert exit_status(findings) == 0


async def test_before_the_installation_missing_rights_are_told_and_are_no_failure() -> None:
    objects = {key: value for key, value in healthy().items() if key != API_SERVICE}
    forbidden = frozenset({("scaleproof", "tokenreviews"), ("scaleproof", "subjectaccessreviews")})
    findings = await preflight(objects, forbidden)
    found = by_check(findings)
    assert found["api-service-owner"].found == "nobody's: installing takes nobody's place"
    assert found["adapter-rights"].verdict == "warn"
    assert found["adapter-rights"].fix == "apply manifests/base/rbac.yaml"
    assert exit_status(findings) == 0


@pytest.mark.parametrize(
    ("service", "owner"),
    [
        ("keda-operator-metrics-apiserver", "KEDA's: other/keda-operator-metrics-apiserver"),
        ("datadog-cluster-agent-metrics-api", "Datadog's: other/datadog-cluster-agent-metrics-api"),
        ("prometheus-adapter", "prometheus-adapter's: other/prometheus-adapter"),
        ("release-prometheus-adapter", "prometheus-adapter's: other/release-prometheus-adapter"),
        ("in-house", "another adapter's: other/in-house"),
    ],
)
async def test_whose_the_api_is_now_is_told_by_name_and_is_a_failure(service: str, owner: str) -> None:
    findings = await preflight({**healthy(), API_SERVICE: api_service(service, "other")})
    found = by_check(findings)
    assert (found["api-service-owner"].verdict, found["api-service-owner"].found) == ("fail", owner)
    assert "hand over" in found["api-service-owner"].fix
    assert not {"api-service-available", "api-service-certificate", "signals"} & set(found)
    assert exit_status(findings) == 1


async def test_a_scaleproof_of_another_namespace_is_not_taken_for_this_one() -> None:
    found = by_check(await preflight({**healthy(), API_SERVICE: api_service("scaleproof", "elsewhere")}))
    assert (found["api-service-owner"].verdict, found["api-service-owner"].fix) == (
        "fail",
        "give --namespace elsewhere",
    )


@pytest.mark.parametrize(
    ("reason", "message", "advice"),
    [
        ("MissingEndpoints", "endpoints have no addresses", "no ready pod"),
        ("ServiceNotFound", "is not present", "does not exist"),
        ("FailedDiscoveryCheck", 'Get "https://10.0.0.1:443/apis": x509: certificate signed by unknown', "caBundle"),
        ("FailedDiscoveryCheck", 'Get "https://10.0.0.1:443/apis": context deadline exceeded', "firewall"),
        ("FailedDiscoveryCheck", "bad status from https://10.0.0.1:443/apis: 401", "authentication-config"),
        ("Whatever", "something new", "log"),
    ],
)
async def test_why_the_api_server_does_not_reach_the_adapter_is_told_with_what_to_do(
    reason: str, message: str, advice: str
) -> None:
    document = api_service()
    document["status"] = {
        "conditions": [{"type": "Available", "status": "False", "reason": reason, "message": message}]
    }
    found = by_check(await preflight({**healthy(), API_SERVICE: document}))["api-service-available"]
    assert (found.verdict, found.found) == ("fail", f"not available, {reason}: {message}")
    assert advice in found.fix


def bundle(*authorities: Authority) -> str:
    return base64.b64encode("".join(one.pem for one in authorities).encode()).decode()


@pytest.mark.parametrize(
    ("spec", "verdict", "found"),
    [
        ({"caBundle": None, "insecureSkipTLSVerify": True}, "warn", "whoever answers"),
        ({"caBundle": None}, "fail", "its machine's own authorities"),
        ({"caBundle": "bm8gUEVN"}, "fail", "no PEM certificates"),
        ({"caBundle": "%"}, "fail", "no PEM certificates"),
        ({"caBundle": bundle(Authority("KEDA"))}, "fail", "KEDA's authority (CN=KEDA)"),
        ({"caBundle": bundle(Authority("old"), Authority("next"))}, "ok", "CN=old, CN=next, until "),
    ],
    ids=["skipped", "none", "no-pem", "no-base64", "keda", "two"],
)
async def test_the_certificate_that_the_api_server_goes_by_is_judged(
    spec: dict[str, Any], verdict: str, found: str
) -> None:
    told = by_check(await preflight({**healthy(), API_SERVICE: api_service(**spec)}))["api-service-certificate"]
    assert told.verdict == verdict
    assert found in told.found


@pytest.mark.parametrize(("days", "verdict"), [(-1, "fail"), (29, "warn"), (31, "ok")])
async def test_an_authority_near_its_end_is_told_in_time(days: int, verdict: str) -> None:
    authority = Authority("test")
    objects = {**healthy(), API_SERVICE: api_service(caBundle=bundle(authority))}
    end = authority.certificate.not_valid_after_utc - timedelta(days=days)
    wanted = Wanted("scaleproof-system", (), None, end.timestamp())
    found = by_check(await look(FakeCluster(objects), wanted, Means(LIBRARY, lint_together, lambda _url: None)))
    assert found["api-service-certificate"].verdict == verdict
    assert (found["prometheus"].verdict, found["prometheus"].found) == ("warn", "not asked")


async def test_an_installed_adapter_without_rights_fails_and_so_does_an_hpa_controller() -> None:
    forbidden = frozenset({("scaleproof", "tokenreviews"), ("horizontal-pod-autoscaler", "chat-replicas")})
    found = by_check(await preflight(installed(hpa("chat", "chat-replicas")), forbidden))
    assert (found["adapter-rights"].verdict, found["adapter-rights"].found) == (
        "fail",
        "not allowed: create tokenreviews.authentication.k8s.io",
    )
    assert (found["metric-readers"].verdict, found["metric-readers"].found) == (
        "fail",
        "not allowed: list chat-replicas.external.metrics.k8s.io in inference",
    )


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("v1.29.9", "fail"), ("v1.30.0", "warn"), ("v1.34.2+k3s1", "warn"), ("v1.35.0-gke.1", "ok"), ("v2.0.0", "ok")],
)
async def test_the_version_is_judged_by_what_hpas_can_have(version: str, verdict: str) -> None:
    found = by_check(await preflight({**healthy(), "/version": {"gitVersion": version}}))
    assert found["kubernetes-version"].verdict == verdict


async def test_an_api_server_without_an_aggregation_layer_cannot_have_an_adapter() -> None:
    found = by_check(await preflight({**healthy(), AUTHENTICATION_CONFIG: {"data": {"client-ca-file": "PEM"}}}))
    assert found["authentication-config"].verdict == "fail"
    assert "requestheader-client-ca-file" in found["authentication-config"].found


async def test_prometheus_that_does_not_answer_is_told_with_its_reason() -> None:
    missing = Missing(Reason.UPSTREAM_TIMEOUT, "prometheus:9090 did not answer within 5 s")
    found = by_check(await preflight(healthy(), prometheus=missing))["prometheus"]
    assert (found.verdict, found.found) == (
        "fail",
        "upstream-timeout: prometheus:9090 did not answer within 5 s",
    )


async def test_an_hpa_is_held_against_the_policy_it_asks_for() -> None:
    findings = await preflight(installed(hpa("chat", "chat-replicas", tolerance=None)))
    found = by_check(findings)["autoscalers"]
    assert (found.looked_at, found.verdict) == ("HPA inference/chat", "warn")
    assert "[hpa-tolerance-missing]" in found.found
    assert 'write behavior.scaleUp.tolerance: "0"' in found.fix

    findings = await preflight(installed(hpa("chat", "chat-replicas", kind="Value")))
    found = by_check(findings)["autoscalers"]
    assert found.verdict == "fail"
    assert "[hpa-target-type]" in found.found


async def test_metric_names_are_held_together_without_regard_to_case() -> None:
    findings = await preflight(installed(hpa("chat", "Chat-Replicas")))
    assert by_check(findings)["autoscalers"].found == "1 fit their policies: inference/chat"


async def test_a_fleets_signal_is_asked_for_as_its_hpa_selects_it() -> None:
    """Without a selector a policy with a signal for each model refuses to answer with several."""
    fleet = POLICY.replace("spec:", "spec:\n  by: {model_name: [chat, code]}").replace(
        ", match: {model_name: chat}", ""
    )
    fleet = fleet.replace("  replicas: {preset: kube/deployment-replicas, match: {deployment: chat}}\n", "")
    one = hpa("chat", "chat-replicas")
    one["spec"]["metrics"][0]["external"]["metric"]["selector"] = {
        "matchLabels": {"model_name": "chat"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a", "b"]}],
    }
    cluster = FakeCluster(installed(one, policy=fleet))
    wanted = Wanted("scaleproof-system", (), None, NOW)
    found = by_check(await look(cluster, wanted, Means(LIBRARY, lint_together, lambda _url: None)))
    assert found["signals"].found == ("served: inference/chat-replicas (model_name=chat,tier notin (a,b)) 3400m")
    assert f"{SIGNAL}?labelSelector=model_name%3Dchat%2Ctier%20notin%20%28a%2Cb%29" in cluster.asked

    found = by_check(await preflight(installed(policy=fleet)))
    assert found["signals"].found == "no metric is known to ask for"


async def test_hpas_come_in_pages_and_more_than_anybody_has_are_not_judged_by_half() -> None:
    objects = installed()
    objects[HPAS] = {"items": [], "metadata": {"continue": "more"}}
    found = by_check(await preflight(objects))["autoscalers"]
    assert (found.verdict, found.found) == ("warn", "cannot be read: there are more than 5000")


async def test_hpas_on_metrics_of_nobody_are_counted_and_those_of_keda_named_so() -> None:
    keda = hpa("web", "s0-cron")
    keda["metadata"]["labels"] = {"scaledobject.keda.sh/name": "web"}
    found = by_check(await preflight(installed(keda, hpa("shop", "sales"))))["autoscalers"]
    assert (found.verdict, found.found) == (
        "fail",
        "2 ask for metrics that no policy publishes: inference/web, inference/shop; 1 of them are KEDA's",
    )
    objects = {**installed(keda), API_SERVICE: api_service("keda-operator-metrics-apiserver", "keda")}
    found = by_check(await preflight(objects))["autoscalers"]
    assert (found.verdict, found.fix) == (
        "warn",
        "write a policy for each before the API changes hands: afterwards it is answered 404",
    )


async def test_an_hpa_on_cpu_alone_is_nobodys_business() -> None:
    cpu = hpa("web", "none")
    cpu["spec"]["metrics"] = [{"type": "Resource", "resource": {"name": "cpu"}}]
    assert by_check(await preflight(installed(cpu)))["autoscalers"].found == "none asks for an external metric"


async def test_broken_policies_are_told_with_their_first_problem(tmp_path: Path) -> None:
    broken = POLICY.replace("per_replica: 10", "per_replica: 0")
    found = by_check(await preflight(installed(policy=broken)))["policies"]
    assert found.verdict == "fail"
    assert found.found.startswith("0 load, 1 errors, 0 warnings; the first: scaleproof-policies/chat.yaml:10:47: error")

    (tmp_path / "chat.yaml").write_text(POLICY)
    found = by_check(await preflight(installed(policy=broken), policies=(tmp_path,)))["policies"]
    assert (found.verdict, found.looked_at, found.found) == ("ok", str(tmp_path), "1 load without a complaint")


async def test_policies_that_are_objects_count_as_those_of_files() -> None:
    spec = {
        "inputs": {"flight": {"preset": "vllm/requests-in-flight"}},
        "replicas": {"preset": "kube/deployment-replicas", "match": {"deployment": "chat"}},
        "terms": {"batch": {"concurrency": "flight", "per_replica": 10}},
        "publish": {"metric": "chat-replicas"},
    }
    metadata = {"name": "chat", "namespace": "inference", "uid": "1", "resourceVersion": "5"}
    objects = {
        **healthy(),
        "/apis/scaleproof.dev/v1alpha1": {"resources": [{"name": "scalingpolicies"}]},
        "/apis/scaleproof.dev/v1alpha1/scalingpolicies": {"items": [{"metadata": metadata, "spec": spec}]},
        HPAS: {"items": [hpa("chat", "chat-replicas")]},
        SIGNAL: {"items": [{"value": "1"}]},
    }
    found = by_check(await preflight(objects))
    assert found["policies"].found == "1 load without a complaint"
    assert found["autoscalers"].found == "1 fit their policies: inference/chat"
    found = by_check(await preflight(objects, frozenset({("scaleproof", "scalingpolicies")})))
    assert found["adapter-rights"].found == (
        "not allowed: list scalingpolicies.scaleproof.dev, watch scalingpolicies.scaleproof.dev,"
        " patch scalingpolicies/status.scaleproof.dev"
    )


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [(Refused(503, "empty: no series"), "warn"), (Refused(404, "no such metric"), "fail")],
)
async def test_a_signal_that_is_not_served_is_told_with_what_the_api_says(answer: Refused, verdict: str) -> None:
    found = by_check(await preflight({**installed(hpa("chat", "chat-replicas")), SIGNAL: answer}))["signals"]
    assert (found.verdict, found.found) == (verdict, f"0 of 1 are served; inference/chat-replicas: {answer}")


async def test_what_one_may_not_read_is_a_warning_and_the_rest_is_still_looked_at() -> None:
    forbidden = Refused(403, "you may not")
    objects = {**healthy(), API_SERVICE: forbidden, AUTHENTICATION_CONFIG: forbidden, HPAS: forbidden}
    findings = await preflight(objects)
    told = {one.check: one.verdict for one in findings}
    assert told == {
        "kubernetes-version": "ok",
        "authentication-config": "warn",
        "api-service-owner": "warn",
        "adapter-rights": "ok",
        "prometheus": "ok",
        "policies": "warn",
        "autoscalers": "warn",
    }
    assert exit_status(findings) == 0


async def test_without_an_answer_of_the_api_server_nothing_else_is_guessed() -> None:
    (finding,) = await preflight({"/version": Refused(0, "no answer: refused")})
    assert (finding.check, finding.verdict) == ("kubernetes-version", "fail")
    assert exit_status([finding]) == 1
