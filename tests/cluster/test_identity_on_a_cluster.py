"""The adapter as a process beside a real API server of its own: who gets a value, and what happens when it dies."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from adapter_process import METRICS_PATH, AdapterProcess
from certificate_files import Authority, KeyPair
from child_process import eventually
from control_plane import ControlPlane, binary
from fake_prometheus import answering, fake_prometheus
from grid_policies import policy_text

pytestmark = pytest.mark.slow

METRIC = f"{METRICS_PATH}/prod/a"
FORGED = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
REFUSED_BY_TLS = 0
TTL_SECONDS = 10


@dataclass
class World:
    """A control plane, and an adapter with a value that reads the ConfigMap of its API server."""

    control_plane: ControlPlane
    adapter: AdapterProcess
    folder: Path

    def get(self, pair: KeyPair | None, headers: dict[str, str], path: str = METRIC) -> int:
        """The status that a client with this certificate gets on a connection of its own."""
        with requests.Session() as session:
            session.trust_env = False
            session.verify = str(self.control_plane.authority.certificate_file)
            session.cert = pair.files if pair else None
            try:
                return session.get(f"{self.adapter.url}{path}", headers=headers, timeout=10).status_code
            except requests.ConnectionError:
                return REFUSED_BY_TLS


@contextmanager
def running_world(folder: Path) -> Iterator[World]:
    with ExitStack() as stack:
        prometheus = stack.enter_context(fake_prometheus(answering(70)))
        control_plane = ControlPlane(folder)
        stack.callback(control_plane.stop)
        (folder / "policies").mkdir()
        (folder / "policies/a.yaml").write_text(policy_text("a"))
        adapter = AdapterProcess(
            folder,
            folder / "policies",
            prometheus.url,
            control_plane.authority.issue("adapter", "adapter"),
            control_plane.authority.certificate_file,
            client=control_plane.front_proxy,
            flags=[f"--kubeconfig={control_plane.kubeconfig}"],
        )
        stack.callback(adapter.close)
        adapter.wait_ready()
        made = World(control_plane, adapter, folder)
        eventually(lambda: made.get(control_plane.front_proxy, FORGED) == 200, "there is a value", 30)
        yield made


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("identity")) as made:
        yield made


def test_forged_headers_get_a_value_for_the_proper_front_proxy_only(world: World, tmp_path: Path) -> None:
    """A user whom the cluster CA vouches for is that user, whatever the name and the headers: here without rights."""
    cluster_ca, proxy_ca = world.control_plane.authority, world.control_plane.front_proxy_authority
    found = {
        "none": world.get(None, FORGED),
        "another CA": world.get(Authority("front-proxy-ca", tmp_path).issue("x", "front-proxy-client"), FORGED),
        "cluster CA": world.get(cluster_ca.issue("posing", "front-proxy-client", names=()), FORGED),
        "front-proxy CA, another name": world.get(proxy_ca.issue("other", "other", names=()), FORGED),
        "proper": world.get(world.control_plane.front_proxy, FORGED),
    }
    assert found == {
        "none": 403,
        "another CA": REFUSED_BY_TLS,
        "cluster CA": 403,
        "front-proxy CA, another name": 401,
        "proper": 200,
    }


def test_when_the_api_server_is_killed_nobody_who_needs_a_review_is_answered_after_ten_seconds(world: World) -> None:
    """
    Killed at 0 s: the answer of the last review may still count until 10 s, and nothing after that. Health goes on, and
    so does system:masters, which needs no review (the aggregator's probes carry it).
    """
    hpa = {"X-Remote-User": "system:serviceaccount:kube-system:horizontal-pod-autoscaler"}
    proxy = world.control_plane.front_proxy
    assert world.get(proxy, hpa) == 200  # the role system:controller:horizontal-pod-autoscaler allows it
    apiserver = next(child for child in world.control_plane.processes if "kube-apiserver" in child.arguments)
    apiserver.kill()
    killed = time.monotonic()
    eventually(lambda: world.get(proxy, hpa) == 500, "the kept answer has run out", TTL_SECONDS + 5)
    while time.monotonic() < killed + TTL_SECONDS + 5:
        assert world.get(proxy, hpa) == 500
        time.sleep(0.3)
    assert world.get(None, {}, "/readyz") == 200
    assert world.get(proxy, FORGED) == 200


def test_the_front_proxy_authority_is_rotated_in_the_config_map_while_the_adapter_runs(tmp_path: Path) -> None:
    """
    kube-apiserver reads its new file and publishes old and new together: both are good. Once the old one is taken out
    of the ConfigMap, its certificate proves nothing, on the connection that was open all the time either.
    """
    config_map = ("configmap", "extension-apiserver-authentication", "--namespace=kube-system")
    key = "requestheader-client-ca-file"
    with running_world(tmp_path) as world:
        old, file = world.control_plane.front_proxy, world.control_plane.front_proxy_authority.certificate_file
        assert world.adapter.metric("prod", "a").status_code == 200  # this connection stays open
        new_authority = Authority("rotated-front-proxy-ca", tmp_path)
        new = new_authority.issue("rotated", "front-proxy-client", names=())
        new_pem = new_authority.certificate_file.read_text()
        file.write_text(new_pem)
        eventually(lambda: world.get(new, FORGED) == 200, "the new authority is trusted", 90)
        assert world.get(old, FORGED) == 200
        patch = json.dumps({"data": {key: new_pem}})
        kubectl = [str(binary()), "kubectl", f"--kubeconfig={world.control_plane.kubeconfig}"]
        subprocess.run([*kubectl, "patch", *config_map, "--type=merge", f"--patch={patch}"], check=True, timeout=30)
        eventually(lambda: world.adapter.metric("prod", "a").status_code == 401, "the open connection has lost it", 30)
        assert (world.get(old, FORGED), world.get(new, FORGED)) == (REFUSED_BY_TLS, 200)
