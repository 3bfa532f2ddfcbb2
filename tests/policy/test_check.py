"""`scaleproof check`: every problem with its place, what is allowed and what to do, in words and as JSON."""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from adapter_process import SCALEPROOF
from policy_world import LIBRARY

from adapter.core.documents import read_documents
from adapter.core.policy_reading import collisions, read_policies
from adapter.core.problems import Position, Problem, Severity

ROOT = Path(__file__).parents[2]

GOOD = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: q, namespace: prod}
spec:
  replicas: {preset: kube/deployment-replicas, match: {deployment: q}}
  inputs:
    queue: {query: queue_depth, unit: count}
    gpu: {preset: dcgm/engine-active, match: {pod: "~q-.*"}}
    kv: {preset: vllm/kv-cache-usage}
  terms:
    batch: {concurrency: queue, per_replica: 10}
    compute: {utilization: gpu, target: 70%}
    cache: {headroom: kv, keep_free: 35%}
  publish: {metric: q-replicas}
"""


def problems_of(text: str) -> list[Problem]:
    return read_policies(text, "p.yaml", LIBRARY)[1]


def replaced(*pairs: tuple[str, str]) -> str:
    text = GOOD
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_good_policy_has_no_problem() -> None:
    loaded, problems = read_policies(GOOD, "p.yaml", LIBRARY)
    assert (len(loaded), problems) == (1, [])


# (what is wrong, what to write instead, code, line, column, words of the message, words of the fix)
FAULTS = [
    ("unknown-key", ("per_replica: 10", "per_replica: 10, limit: 4"), 11, 50, 'unknown key "limit"', "allowed here"),
    ("unknown-key", ("  publish:", "  publisch:"), 14, 3, 'unknown key "publisch"', "did you mean publish?"),
    (
        "unknown-key",
        ("per_replica: 10", "per_replica: 10, threshold: 4"),
        11,
        50,
        "threshold",
        "target stands in a term",
    ),
    ("required-key", (", target: 70%", ""), 12, 14, "target is required", "write e.g. target: 70%"),
    ("value-range", ("per_replica: 10", "per_replica: 0"), 11, 46, "must be greater than 0", "above 0"),
    ("unit-mismatch", ("target: 70%", "target: 70"), 12, 41, "cannot be reached", ""),
    ("target-too-high", ("target: 70%", "target: 95%"), 12, 41, "above 0.9", "50% to 80%"),
    ("unit-mismatch", ("concurrency: queue", "concurrency: kv"), 11, 26, "is in ratio", "count"),
    ("unknown-input", ("concurrency: queue", "concurrency: que"), 11, 26, 'no input is called "que"', "queue?"),
    (
        "unknown-preset",
        ("vllm/kv-cache-usage", "vllm/kv-cache-use"),
        9,
        18,
        "vllm/kv-cache-use",
        "vllm/kv-cache-usage?",
    ),
    ("promql", ("query: queue_depth", 'query: "sum("'), 7, 20, "not valid PromQL", "correct the query"),
    ("input-source", ("query: queue_depth, ", ""), 7, 12, "names a preset or a query", "write preset"),
    ("term-kind", ("concurrency: queue, ", ""), 11, 12, "names exactly one of", "one rule per term"),
    ("value-invalid", ("unit: count", "unit: pounds"), 7, 39, '"pounds"', ""),
    ("headroom-no-room", ("keep_free: 35%", "keep_free: 100%"), 13, 38, "no room is left", "lower base"),
    ("name-invalid", ("name: q,", "name: Q_1,"), 3, 18, '"Q_1" is not a Kubernetes name', ""),
    ("duplicate-key", ("  publish:", "  terms: {}\n  publish:"), 14, 3, "stands twice, first at line 10", "remove one"),
    ("missing-rule", ("unit: count", "unit: count, missing: ignore"), 7, 55, "no rule for missing data", "rise_only"),
    (
        "memory-range",
        ("  replicas:", "  every: 1m\n  memory: 30s\n  replicas:"),
        5,
        3,
        "must hold from 1",
        "memory: 10m",
    ),
    ("value-invalid", ("  replicas:", "  every: 15\n  replicas:"), 5, 10, "15 is not a duration", ""),
    (
        "hold-beyond-memory",
        ("unit: count", "unit: count, missing: {hold: 20m}"),
        7,
        55,
        "shorter than memory",
        "shorten",
    ),
]


@pytest.mark.parametrize(
    ("code", "change", "line", "column", "words", "fix"), FAULTS, ids=[f"{i}-{row[0]}" for i, row in enumerate(FAULTS)]
)
def test_each_fault_is_told_with_its_place_and_its_fix(
    code: str, change: tuple[str, str], line: int, column: int, words: str, fix: str
) -> None:
    found = [problem for problem in problems_of(replaced(change)) if problem.code == code]
    assert len(found) == 1, problems_of(replaced(change))
    (problem,) = found
    assert (problem.position.line, problem.position.column) == (line, column), problem
    assert words in problem.message
    assert fix in problem.fix
    assert problem.severity is Severity.ERROR


def test_all_problems_of_a_file_come_in_one_run() -> None:
    text = replaced(
        ("target: 70%", "target: 700"), ("per_replica: 10", "per_replica: -1"), ("{metric: q-replicas}", "{}")
    )
    assert [problem.code for problem in problems_of(text)] == ["value-range", "unit-mismatch", "required-key"]


WARNINGS = [
    ("replicas-missing", ("  replicas: {preset: kube/deployment-replicas, match: {deployment: q}}\n", "")),
    ("no-unbounded-term", ("    batch: {concurrency: queue, per_replica: 10}\n", "")),
    ("unused-input", ("    cache: {headroom: kv, keep_free: 35%}\n", "")),
    ("freshness-missing", ("query: queue_depth", "query: sum(queue_depth)")),
    ("groups-without-replicas", ("  replicas:", "  by: [model_name]\n  replicas:")),
    ("offset-too-small", ("  replicas:", "  every: 1s\n  offset: 2s\n  replicas:")),
]


@pytest.mark.parametrize(("code", "change"), WARNINGS, ids=[row[0] for row in WARNINGS])
def test_what_scales_badly_is_a_warning_and_refuses_nothing(code: str, change: tuple[str, str]) -> None:
    loaded, problems = read_policies(replaced(change), "p.yaml", LIBRARY)
    assert len(loaded) == 1
    assert code in [problem.code for problem in problems]
    assert all(problem.severity is Severity.WARNING for problem in problems)


def test_a_drain_below_the_stable_one_is_a_warning() -> None:
    text = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: q, namespace: prod}
spec:
  inputs: {waiting: {query: waiting, unit: count}}
  capacity: {rate_per_replica: 4/s, cold_start: 4m}
  terms: {queue: {backlog: waiting, drain: 60s}}
  publish: {metric: q}
"""
    # 2 ÷ π × (240 + 30) = 171.9 s
    codes = {problem.code: problem for problem in problems_of(text)}
    assert "172s" in codes["drain-too-short"].message
    assert "backlog-alone" in codes


def test_vram_without_a_base_is_refused_since_weights_never_divide() -> None:
    change = ("preset: vllm/kv-cache-usage", "preset: dcgm/vram-used-ratio")
    assert [problem.code for problem in problems_of(replaced(change))] == ["base-missing"]


def test_completions_are_refused_as_arrivals() -> None:
    text = replaced(
        ("preset: vllm/kv-cache-usage", "preset: vllm/request-completions"),
        ("{headroom: kv, keep_free: 35%}", "{throughput: kv, rate_per_replica: 4/s}"),
    )
    assert [problem.code for problem in problems_of(text)] == ["completions-saturate"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCALEPROOF, "check", *arguments], capture_output=True, text=True, timeout=30)


def test_the_command_ends_with_0_1_or_2_and_writes_json(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    assert run(tmp_path).returncode == 0
    (tmp_path / "bad.yml").write_text(
        replaced(("name: q,", "name: r,"), ("q-replicas", "r"), ("target: 70%", "target: 95%"))
    )
    ended = run("--output", "json", tmp_path)
    assert ended.returncode == 1
    (problem,) = json.loads(ended.stdout)["problems"]
    assert problem == {
        "file": str(tmp_path / "bad.yml"),
        "line": 12,
        "column": 41,
        "code": "target-too-high",
        "severity": "error",
        "message": "spec.terms.compute.target: target 0.95 is above 0.9, so a full replica never asks for another",
        "fix": "use a target from 50% to 80%",
        "page": "docs/errors.md#target-too-high",
    }
    assert run(tmp_path / "nosuch.yaml").returncode == 2
    assert run().returncode == 2


def test_two_files_that_claim_one_metric_are_named_both(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(replaced(("name: q,", "name: r,"), ("q-replicas", "Q-Replicas")))
    ended = run("--output", "json", tmp_path)
    (problem,) = json.loads(ended.stdout)["problems"]
    assert (problem["code"], problem["file"], problem["line"]) == ("duplicate-metric", str(tmp_path / "b.yaml"), 14)
    assert f"{tmp_path / 'a.yaml'}:14:21" in problem["message"]


def test_an_hpa_beside_its_policy_is_not_judged(tmp_path: Path) -> None:
    hpa = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: q}\n"
    (tmp_path / "a.yaml").write_text(GOOD + hpa)
    assert run(tmp_path).returncode == 0


def test_the_policy_of_the_design_loads_unchanged() -> None:
    text = (ROOT / "tests/policy/llama-70b.yaml").read_text()
    loaded, problems = read_policies(text, "llama-70b.yaml", LIBRARY)
    assert len(loaded) == 1
    assert problems == []


def test_the_simplest_useful_policy_has_12_lines() -> None:
    text = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata:
  name: chat
  namespace: prod
spec:
  inputs:
    flight: {preset: vllm/requests-in-flight}
  terms:
    batch: {concurrency: flight, per_replica: 10}
  publish:
    metric: chat-replicas
"""
    assert len(text.splitlines()) == 12
    loaded, _ = read_policies(text, "p.yaml", LIBRARY)
    assert len(loaded) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: [", "yaml-syntax"),
        ("", "empty-file"),
        ("a: \x00", "yaml-syntax"),
        ("- 1", "value-invalid"),
        ("a: &x 1\nb: !!python/name:os.system", "yaml-tag"),
        ("<<: {a: 1}", "yaml-merge"),
        (
            "a: &a [x, x, x, x, x, x, x, x]\n"
            + "\n".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 8)}]" for i in range(8)),
            "yaml-too-large",
        ),
    ],
    ids=["syntax", "empty", "control", "list", "tag", "merge", "aliases"],
)
def test_a_text_that_is_no_policy_is_a_problem_and_never_a_crash(text: str, code: str) -> None:
    assert code in [problem.code for problem in problems_of(text)]


def test_words_of_other_yaml_versions_stay_words() -> None:
    (document,), _ = read_documents("a: on\nb: 1:30\nc: 0o17\nd: 1e3\ne: ~\nf: .5\ng: 010\nh: false", "x")
    data: Any = document.value
    assert data == {"a": "on", "b": "1:30", "c": "0o17", "d": 1000.0, "e": None, "f": 0.5, "g": 10, "h": False}


HOSTILE = [
    ("a newline after a name", ("{metric: q-replicas}", '{metric: "q-replicas\\n"}'), "name-invalid", 14, 21),
    (
        "a duration beyond a double",
        ("unit: count", f"unit: count, max_age: {'9' * 308}s{'9' * 308}s"),
        "value-invalid",
        7,
        55,
    ),
    ("a mapping in by", ("  replicas:", "  by: [{a: 1}]\n  replicas:"), "name-invalid", 5, 7),
    ("a rule's inner name", ("unit: count", "unit: count, missing: {action: hold}"), "missing-rule", 7, 55),
    ("a hold of nothing", ("unit: count", "unit: count, missing: {hold: }"), "missing-rule", 7, 55),
    ("no regular expression", ('"~q-.*"', '"~q-("'), "regex", 8, 52),
    ("a replica that takes nothing", ("per_replica: 10", "per_replica: 5e-324"), "value-range", 11, 12),
    (
        "groups beyond reason",
        ("  replicas:", f"  by: {{a: {list('abcdefghijk')}, b: {[f'm{i}' for i in range(1000)]}}}\n  replicas:"),
        "value-range",
        5,
        7,
    ),
    ("a replica that takes all", ("per_replica: 10", "per_replica: 1e300"), "value-range", 11, 12),
]


@pytest.mark.parametrize(
    ("change", "code", "line", "column"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_a_hostile_value_is_a_problem_with_its_place(
    change: tuple[str, str], code: str, line: int, column: int
) -> None:
    loaded, problems = read_policies(replaced(change), "p.yaml", LIBRARY)
    assert loaded == []
    assert (code, line, column) in [(one.code, one.position.line, one.position.column) for one in problems], problems


def test_bytes_beyond_a_double_are_refused() -> None:
    text = replaced(
        ("{query: queue_depth, unit: count}", "{query: used, unit: bytes}"),
        ("{concurrency: queue, per_replica: 10}", f"{{headroom: queue, capacity: {'9' * 300}TiB, keep_free: 1GiB}}"),
    )
    assert [problem.code for problem in problems_of(text)] == ["unit-mismatch"]


def test_a_text_that_utf8_cannot_hold_is_a_problem() -> None:
    assert [problem.code for problem in problems_of("a: \ud800")] == ["yaml-syntax"]


EVERYTHING = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: p, namespace: prod, labels: {a: b}}
spec:
  every: 15s
  by: {model: [a]}
  replicas: {query: spec, ready: ready, max_age: 30s}
  inputs:
    q: {query: q, unit: count, per: [pod], reduce: sum, max_age: 30s, freshness: q, missing: {hold: 2m}}
    v: {query: v, unit: bytes, missing: {assume: 2, scale_down: allowed}}
    g: {preset: dcgm/engine-active, match: {pod: "~q-.*"}, window: 1m}
  capacity: {rate_per_replica: 4/s, cold_start: 2m}
  terms:
    b: {concurrency: q, per_replica: 1}
    w: {backlog: q, drain: 30s}
    h: {headroom: v, base: 1GiB, capacity: 80GiB, keep_free: {up: 1GiB, down: 2GiB}}
    u: {utilization: g, target: {up: 70%, down: 60%}, when: "v > 1", shape: {down: {window: 2m, take: 0.9}}}
    e: {expression: "q / 4", down: "q / 3", shape: {up: {sustained: 1m}, trend: {window: 5m, horizon: 1m}}}
  combine: {weighted: {b: 2, u: 1}}
  stability: {hysteresis: {up: 1, down: 10%}, step: {down: {replicas: 1, share: 20%}}, cooldown: {down: 2m}, credit: 4m}
  guards: [{hold_scale_down: {when: "v > 1", for: 10m, max: 30m}}, {hold_scale_up: {alert: Drift}}]
  overrides: {a: {capacity: {rate_per_replica: 2/s}, ceiling: 3}}
  publish:
    {metric: m, floor: 1, ceiling: 9, sum: true, labels: {x: y}, budget: {gpus: 64, gpus_per_replica: 8},
     schedule: [{cron: "0 8 * * 1-5", zone: Europe/Berlin, for: 10h, floor: 4}]}
"""
WILD = ["", "null", "true", "-1", "0", "1e308", "5e-324", ".nan", ".inf", "9" * 400, "9" * 30 + "s", '"a\\nb"', '"{}%"']
WILD += [
    "[]",
    "[[]]",
    "[{a: 1}]",
    "{}",
    "{a: {}}",
    "{'': 1}",
    "{up: [], down: {}}",
    "{backlog: q, latency: q}",
    '"~("',
    "é\U0001f600",
]


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *[place for step, one in inner for place in places(one, (*path, step))]]


@pytest.mark.slow
@pytest.mark.parametrize("wild", WILD)
def test_no_value_in_any_place_is_more_than_a_problem_of_the_file(wild: str) -> None:
    document = yaml.safe_load(EVERYTHING)
    assert len(read_policies(EVERYTHING, "p.yaml", LIBRARY)[0]) == 1
    for path in places(document)[1:]:
        changed = copy.deepcopy(document)
        parent = changed
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = "WILD"
        text = yaml.safe_dump(changed, sort_keys=False, default_flow_style=True, width=100_000).replace("WILD", wild)
        loaded, problems = read_policies(text, "p.yaml", LIBRARY)
        assert loaded or any(problem.severity is Severity.ERROR for problem in problems), text
        assert all(1 <= problem.position.column <= len(text) for problem in problems)


def test_every_required_key_that_is_missing_is_told() -> None:
    text = replaced(("metadata: {name: q, namespace: prod}", "metadata: {}"))
    assert [problem.message for problem in problems_of(text)] == [
        "name is required in metadata",
        "namespace is required in metadata",
    ]


REFUSED = [
    ("match-missing", (", match: {deployment: q}}", "}"), 5, 13),
    ("promql", ("unit: count", 'unit: count, freshness: "sum("'), 7, 57),
    ("freshness-selector", ("unit: count", "unit: count, freshness: sum(up)"), 7, 57),
    ("total-needs-one-term", ("{metric: q-replicas}", "{metric: q, as: total}"), 14, 28),
    ("label-twice", ("  publish: {", "  by: [x]\n  publish: {labels: {x: y}, "), 15, 21),
    ("histogram", ("vllm/kv-cache-usage", "vllm/time-to-first-token"), 13, 23),
    ("target-missing", ("{concurrency: queue, per_replica: 10}", "{backlog: queue}"), 11, 22),
    ("unknown-key", ("match: {deployment: q}}", "match: {deployment: q}, watch: 1}"), 5, 72),
    ("yaml-key", ("  publish:", "  ? [a]\n  : 1\n  publish:"), 14, 5),
    ("value-invalid", ("per_replica: 10", "per_replica: .nan"), 11, 46),
]


@pytest.mark.parametrize(
    ("code", "change", "line", "column"),
    REFUSED,
    ids=[f"{row[0]}-{i}" for i, row in enumerate(REFUSED)],
)
def test_each_refusal_stands_at_its_place(code: str, change: tuple[str, str], line: int, column: int) -> None:
    loaded, problems = read_policies(replaced(change), "p.yaml", LIBRARY)
    assert loaded == []
    assert (code, line, column) in [(one.code, one.position.line, one.position.column) for one in problems], problems
    assert all(str(one).startswith("p.yaml:") for one in problems)


def test_a_document_that_says_it_is_something_else_is_passed_over() -> None:
    hpa = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: q}\n"
    loaded, problems = read_policies(GOOD + hpa, "p.yaml", LIBRARY)
    assert (len(loaded), problems) == (1, [])


def test_arrivals_are_divided_by_a_rate_that_must_be_given() -> None:
    text = replaced(
        ("unit: count", "unit: per_second"), ("{concurrency: queue, per_replica: 10}", "{throughput: queue}")
    )
    assert [problem.code for problem in problems_of(text)] == ["target-missing"]


def test_a_ratio_to_n_needs_replicas() -> None:
    text = replaced(
        ("  replicas: {preset: kube/deployment-replicas, match: {deployment: q}}\n", ""),
        ("{metric: q-replicas}", "{metric: q, as: ratio}"),
    )
    assert [problem.code for problem in problems_of(text)] == ["replicas-required"]


def test_a_file_beyond_a_million_characters_is_not_read() -> None:
    assert [problem.code for problem in problems_of("#" * 1_000_001)] == ["yaml-too-large"]


def test_a_place_that_the_file_does_not_have_is_its_nearest_ancestor() -> None:
    (document,), _ = read_documents("a:\n  b: 1", "x")
    assert document.value_at(("a", "c", "d")) == Position(2, 3)
    assert document.key_at(("a",)) == Position(1, 1)


def test_a_sum_over_groups_that_are_only_seen_is_a_warning() -> None:
    text = replaced(
        ("  replicas:", "  by: [namespace]\n  replicas:"), ("{metric: q-replicas}", "{metric: q, sum: true}")
    )
    assert [problem.code for problem in problems_of(text)] == ["groups-undeclared"]


def test_names_and_metrics_that_stand_twice_are_told_with_both_places() -> None:
    second = replaced(("name: q,", "name: r,"), ("q-replicas", "Q-REPLICAS"))
    loaded, problems = read_policies(GOOD + "---\n" + GOOD + "---\n" + second, "p.yaml", LIBRARY)
    assert (len(loaded), problems) == (3, [])
    found = [(problem.code, problem.position.line, problem.message.split()[-1]) for problem in collisions(loaded)]
    assert found == [("duplicate-policy", 18, "p.yaml:3:18"), ("duplicate-metric", 44, "p.yaml:14:21")]


def test_an_input_whose_name_only_occurs_within_a_word_of_a_guard_is_unused() -> None:
    text = replaced(
        ("    kv: {", "    pu: {query: x, unit: count}\n    kv: {"),
        ("  publish:", "  guards: [{hold_scale_down: {when: 'gpu > 70%'}}]\n  publish:"),
    )
    assert [problem.code for problem in problems_of(text)] == ["unused-input"]


def test_the_configuration_of_the_server_holds_for_a_check(tmp_path: Path) -> None:
    policy, config = tmp_path / "p.yaml", tmp_path / "serve.yaml"
    policy.write_text(replaced(("query: queue_depth", "query: 'queue_depth{namespace=\"other\"}'")))
    command = [SCALEPROOF, "check", policy, "--output", "json"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).returncode == 0
    for text, codes in (("tenancy: own\n", ["other-namespace"]), ("also-reads: {prod: [other]}\n", [])):
        config.write_text(text)
        ended = subprocess.run([*command, "--config", config], capture_output=True, text=True, timeout=60)
        assert [one["code"] for one in json.loads(ended.stdout)["problems"]] == codes
        assert ended.returncode == len(codes)
    config.write_text("tenancy: all\n")
    ended = subprocess.run([*command, "--config", config], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, "own-or-unlabelled" in ended.stderr) == (2, True)
