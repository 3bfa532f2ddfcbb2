"""What a policy may read: its own namespace, what carries none, and what the server's configuration adds."""

import pytest
from policy_world import LIBRARY

from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.problems import Problem
from adapter.core.reach import Reach, SourceReach
from adapter.core.tenancy import Confinement, NotConfinable, OtherNamespace, TenancyMode, confined

TO = Confinement("prod")
STRICT = Confinement("prod", unlabelled=False)
WITH_SHARED = Confinement("prod", frozenset({"shared"}))
EXPORTED = Confinement("prod", labels=("exported_namespace",), unlabelled=False)


@pytest.mark.parametrize(
    ("query", "to", "sent"),
    [
        ("up", TO, 'up{namespace=~"prod|"}'),
        ("up", STRICT, 'up{namespace="prod"}'),
        ("up", EXPORTED, 'up{exported_namespace="prod"}'),
        # What is not said is one's own, also where another namespace may be read.
        ("up", WITH_SHARED, 'up{namespace=~"prod|"}'),
        ('up{namespace="shared"}', WITH_SHARED, 'up{namespace="shared"}'),
        ('up{namespace=~"prod|shared"}', WITH_SHARED, 'up{namespace=~"prod|shared"}'),
        # What is confined already is sent as it was written, blanks and all.
        ('sum( up{namespace="prod"} )', TO, 'sum( up{namespace="prod"} )'),
        ('up{namespace=~"prod|"}', TO, 'up{namespace=~"prod|"}'),
        ('up{namespace=~"prod|"}', STRICT, 'up{namespace!="",namespace=~"prod|"}'),
        # To be there is not to be one's own.
        ('up{namespace!=""}', TO, 'up{namespace!="",namespace=~"prod|"}'),
        ('up{exported_namespace!=""}', TO, 'up{exported_namespace!="",exported_namespace="prod"}'),
        # Where the exporter tells the workload's namespace, that label must be there: without it it is anybody's.
        (
            'up{exported_namespace=~"prod|",exported_pod!=""}',
            TO,
            'up{exported_namespace!="",exported_namespace=~"prod|",exported_pod!=""}',
        ),
        ('up{exported_namespace=""}', TO, 'up{exported_namespace="",namespace=~"prod|"}'),
        (
            "sum by (pod) (rate(a[5m] offset 1m)) / on (pod) max_over_time(b[1h:5m] @ end()) or absent(c)",
            STRICT,
            'sum by (pod) (rate(a{namespace="prod"}[5m] offset 1m))'
            ' / on (pod) max_over_time(b{namespace="prod"}[1h:5m] @ end()) or absent(c{namespace="prod"})',
        ),
    ],
)
def test_every_selector_reads_what_its_policy_may(query: str, to: Confinement, sent: str) -> None:
    assert " ".join(confined(query, to).split()) == sent


@pytest.mark.parametrize(
    "query",
    [
        'up{namespace="other"}',
        'up{namespace=~"prod|other"}',
        'up{namespace=~".*"}',
        'up{namespace=~"prod.*"}',
        'up{namespace!="prod"}',
        'up{namespace!~"x"}',
        'up{exported_namespace="other",namespace="prod"}',
        'up{namespace="prod",namespace="other"}',
        'sum(rate(up{namespace="other"}[5m])) + up',
        'up{"namespace"="other"}',
    ],
)
def test_a_query_that_asks_for_another_namespace_is_refused(query: str) -> None:
    with pytest.raises(OtherNamespace, match="may read beyond the namespace prod"):
        confined(query, TO)


def test_series_without_a_namespace_are_refused_where_only_ones_own_may_be_read() -> None:
    assert confined('up{namespace=""}', TO) == 'up{namespace="",namespace=~"prod|"}'
    with pytest.raises(OtherNamespace):
        confined('up{namespace=""}', STRICT)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ('up{a="b" or c="d"}', "joined by `or`"),
        ("info(up)", "series that no selector"),
        ('up{a="\\xff"}', "a single byte"),
        ("up @ -5", "before 1970"),
        (" or ".join(["up"] * 102), "more than 100 operators"),
    ],
)
def test_a_query_that_cannot_be_confined_for_certain_is_refused(query: str, words: str) -> None:
    with pytest.raises(NotConfinable, match=words):
        confined(query, TO)


POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: p, namespace: prod}}
spec:
  {extra}
  inputs:
    load: {load}
  terms: {{t: {{concurrency: load, per_replica: 10}}}}
  publish: {{metric: p}}
"""
DEFAULT = Reach()


def read(load: str, reach: Reach = DEFAULT, extra: str = "every: 15s") -> tuple[list[LoadedPolicy], list[Problem]]:
    return read_policies(POLICY.format(load=load, extra=extra), "p.yaml", LIBRARY, reach)


@pytest.mark.parametrize(
    ("load", "column"),
    [
        ("{query: 'q{namespace=\"other\"}', unit: count}", 19),
        ("{unit: count, freshness: 'q{namespace=\"other\"}', query: 'sum(q)', per: []}", 36),
        ("{preset: vllm/requests-in-flight, match: {namespace: other}}", 64),
    ],
    ids=["query", "freshness", "match"],
)
def test_a_policy_that_tries_another_namespace_is_refused_with_its_place(load: str, column: int) -> None:
    loaded, problems = read(load)
    assert not loaded
    errors = [one for one in problems if one.code == "other-namespace"]
    assert [(one.position.line, one.position.column) for one in errors] == [(7, column)]
    assert 'namespace="other" may read beyond the namespace prod' in errors[0].message
    assert 'write namespace="prod"' in errors[0].fix


def test_replicas_and_alerts_are_confined_as_inputs_are() -> None:
    extra = (
        "replicas: {query: 'sum(r)', ready: 'y{namespace=\"other\"}'}\n  guards: [{hold_scale_down: {alert: Broken}}]"
    )
    _, problems = read("{query: q, unit: count}", extra=extra)
    (problem,) = [one for one in problems if one.code == "other-namespace"]
    assert (problem.position.line, problem.position.column) == (5, 38)
    (loaded,), _ = read("{query: q, unit: count}", extra=extra.replace("other", "prod"))
    assert sorted(loaded.plan.asked(query, is_raw).partition("[")[0] for query, is_raw in loaded.plan.queries) == [
        'ALERTS{alertname="Broken",alertstate="firing",namespace=~"prod|"}',
        'q{namespace=~"prod|"}',
        'sum(r{namespace=~"prod|"})',
        'y{namespace="prod"}',
    ]


def test_the_servers_configuration_may_allow_more() -> None:
    load = "{query: 'q{namespace=\"other\"}', unit: count}"
    off = Reach({"default": SourceReach(TenancyMode.OFF)})
    some = Reach(also_reads={"prod": frozenset({"other"})})
    every = Reach(also_reads={"prod": frozenset({"*"})})
    nothing = Reach(also_reads={"staging": frozenset({"other"})})
    assert [len(read(load, reach)[0]) for reach in (off, some, every, nothing)] == [1, 1, 1, 0]


def test_presets_are_asked_as_they_were_in_their_own_namespace() -> None:
    (loaded,), _ = read("{preset: vllm/requests-in-flight, match: {model_name: m}}")
    assert {loaded.plan.asked(query, is_raw) for query, is_raw in loaded.plan.queries} == {
        'vllm:num_requests_running{namespace=~"prod|",model_name="m"}[120s]',
        'vllm:num_requests_waiting{namespace=~"prod|",model_name="m"}[120s]',
    }


@pytest.mark.parametrize("name", LIBRARY.names()[0])
@pytest.mark.parametrize("mode", [TenancyMode.OWN, TenancyMode.OWN_OR_UNLABELLED])
def test_every_preset_can_be_confined(name: str, mode: TenancyMode) -> None:
    preset = LIBRARY.input(name)
    assert preset is not None
    _, problems = read(f"{{preset: {name}}}", Reach({"default": SourceReach(mode)}))
    assert not [one for one in problems if one.code in ("other-namespace", "namespace-unsure")]


def test_a_policy_names_its_source_and_a_name_that_is_not_there_is_refused_with_its_place() -> None:
    sources = {"default": SourceReach(), "thanos": SourceReach(), "finance": SourceReach(namespaces=frozenset({"fin"}))}
    (loaded,), _ = read("{query: q, unit: count}", Reach(sources), "source: thanos")
    assert loaded.plan.source == "thanos"
    for name, fix in (("thano", "did you mean thanos?"), ("finance", "sources for this namespace: default, thanos")):
        refused, problems = read("{query: q, unit: count}", Reach(sources), f"source: {name}")
        assert not refused
        (problem,) = [one for one in problems if one.code == "unknown-source"]
        assert (problem.position.line, problem.position.column, problem.fix) == (5, 11, fix)
        # Whether there is one for others is not told.
        assert problem.message == f'spec.source: no source is called "{name}" for policies of prod'
