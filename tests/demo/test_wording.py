"""What the demonstration writes: numbers with their units, bars, and commands that fit the terminal."""

import subprocess

import pytest

from sim.demo.wording import amount, bars, clock, folded, paste_lines, replicas

PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/inference/m-replicas"


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (41.25 * 1024**3, "bytes", "41.25 GiB"),
        (331.296, "per_second", "331.3/s"),
        (0.73, "ratio", "0.730"),
        (1261.0, "count", "1261"),
        (None, "count", "–"),
    ],
    ids=["bytes", "rate", "ratio", "count", "none"],
)
def test_amounts_carry_their_unit(value, unit, expected):
    assert amount(value, unit) == expected


def test_a_missing_bound_is_infinite():
    assert (replicas(11.8), replicas(None)) == ("11.800", "∞")


def test_a_place_in_the_trace_is_a_clock():
    assert clock(3848.9) == "1:04:08"


def test_bars_rise_with_the_value_and_leave_a_gap_where_there_was_none():
    assert bars([0.0, None, 5.0, 10.0], top=10.0, width=10) == "▁ ▅█"
    assert bars([1.0, 10.0, 10.0], top=10.0, width=2) == "██"


def test_each_metric_has_its_curl_line_and_the_first_its_kubectl_line():
    assert paste_lines("https://127.0.0.1:1", [("inference", "m-replicas"), ("b", "n")]) == [
        f"curl -sk https://127.0.0.1:1{PATH}",
        "curl -sk https://127.0.0.1:1/apis/external.metrics.k8s.io/v1beta1/namespaces/b/n",
        f"kubectl --server https://127.0.0.1:1 --insecure-skip-tls-verify --token demo get --raw {PATH}",
    ]


@pytest.mark.parametrize("width", [10, 40, 80, 120, 1000])
def test_a_command_folded_to_any_width_is_the_same_command_to_a_shell(width):
    command = f"printf %s https://127.0.0.1:36389{PATH}"
    lines = folded(command, width)
    assert max(map(len, lines)) <= width
    done = subprocess.run("\n".join(lines), shell=True, check=True, capture_output=True, text=True, timeout=20)
    assert done.stdout == f"https://127.0.0.1:36389{PATH}"
