"""The HPAs of the ready policies, taken by a real API server without a word of complaint."""

import json

import pytest
from cluster import Cluster

from adapter.bundled import policies_folder

HPAS = sorted((policies_folder() / "ready").glob("*.hpa.yaml"))


@pytest.mark.slow
def test_a_real_api_server_takes_every_hpa_and_keeps_its_tolerance(cluster: Cluster) -> None:
    with cluster.namespace("inference"):
        for path in HPAS:
            answer = cluster.kubectl(
                "apply", "--dry-run=server", "--validate=strict", "--output=json", "--filename", str(path)
            )
            found = json.loads(answer)
            for hpa in found.get("items", [found]):
                behavior = hpa["spec"]["behavior"]
                assert (behavior["scaleUp"]["tolerance"], behavior["scaleDown"]["tolerance"]) == ("0", "0"), path
