"""What the watch survives: an API server that is down at the start or restarts, a kind that is not there, no rights.

On a control plane of its own, since it is stopped; told as one story on a time line, since each start costs seconds.
"""

from pathlib import Path

import pytest
from adapter_process import AdapterProcess
from child_process import eventually
from cluster import ADAPTER_NAMESPACE, Cluster
from fake_prometheus import FakePrometheus
from scaling_policy import condition, get, policy_object, put

pytestmark = pytest.mark.slow

BASE = Path(__file__).parents[2] / "manifests/base"


def values(adapter: AdapterProcess) -> dict[str, str | None]:
    return {one["policy"]: one["value"] for one in adapter.explain()}


def test_the_policies_come_when_the_api_server_the_rights_and_the_kind_are_there_and_stay_when_they_go(
    own_cluster: Cluster, tmp_path: Path, prometheus: FakePrometheus
) -> None:
    cluster, plane = own_cluster, own_cluster.control_plane
    assert plane is not None
    cluster.kubectl("apply", f"--filename={BASE / 'namespace.yaml'}", f"--filename={BASE / 'service-account.yaml'}")
    kubeconfig = cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, "scaleproof")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.yaml").write_text(policy_object("file"))

    # The API server is down at the start: what files say is served, and the process is ready.
    plane.stop_apiserver()
    front_proxy = plane.front_proxy_authority.certificate_file
    adapter = AdapterProcess(
        tmp_path,
        folder,
        prometheus.url,
        cluster.serving,
        cluster.authority.certificate_file,
        client=plane.front_proxy,
        flags=[
            f"--kubeconfig={kubeconfig}",
            f"--client-ca-file={cluster.authority.certificate_file}",
            f"--requestheader-client-ca-file={front_proxy}",
            "--requestheader-allowed-names=front-proxy-client",
        ],
    )
    try:
        adapter.wait_ready()
        eventually(lambda: values(adapter) == {"file": "7"}, "the file's policy is served")
        eventually(lambda: adapter.get("/readyz").status_code == 200, "the adapter is ready")
        says_once(adapter, "scaling-policies-unseen")

        # It comes, and the account may not list policies.
        plane.start_apiserver()
        says_once(adapter, "scaling-policies-forbidden")
        # It may, and the kind is not there.
        cluster.kubectl("apply", f"--filename={BASE / 'rbac.yaml'}")
        says_once(adapter, "scaling-policies-not-installed")
        # The kind is there, and a policy.
        cluster.kubectl("apply", f"--filename={BASE / 'crd.yaml'}")
        cluster.kubectl("wait", "--for=condition=Established", "crd/scalingpolicies.scaleproof.dev", "--timeout=30s")
        with cluster.namespace("prod"):
            put(cluster, policy_object("object"))
            eventually(lambda: values(adapter) == {"file": "7", "object": "7"}, "the object is served", 60)
            eventually(lambda: condition(get(cluster, "object"), "Active")[1] == "Signal", "its status is written", 30)

            # The API server goes: nothing changes. It comes again, and a change is seen.
            plane.stop_apiserver()
            eventually(lambda: adapter.child.output().count("scaling-policies-unseen") == 2, "the loss is told", 30)
            assert values(adapter) == {"file": "7", "object": "7"}
            plane.start_apiserver()
            put(cluster, policy_object("object", per_replica=5))
            eventually(lambda: values(adapter)["object"] == "14", "the change is seen", 60)

            # The kind is deleted, and its policies with it; the file stays.
            cluster.kubectl("delete", "crd", "scalingpolicies.scaleproof.dev")
            eventually(lambda: values(adapter) == {"file": "7"}, "the object is withdrawn", 60)
        assert adapter.child.is_running
    finally:
        adapter.close()


def says_once(adapter: AdapterProcess, event: str) -> None:
    """Wait until the log has the event; the retries that follow do not repeat it."""
    eventually(lambda: event in adapter.child.output(), f"the log has {event}", 60)
    assert adapter.child.output().count(event) == 1
