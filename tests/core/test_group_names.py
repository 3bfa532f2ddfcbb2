"""Each group has a label of its own, whatever the groups are called, and none takes another's."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st
from policy_world import HEAD, LIBRARY, one, outcomes, policy, tick

from adapter.core.group_names import marked, names_of
from adapter.core.label_syntax import value_faults
from adapter.core.policy_reading import read_policies
from adapter.core.signals import Signal

FLEET = """\
  by: {by}
  inputs: {{load: {{query: load, unit: count}}}}
  terms: {{l: {{concurrency: load, per_replica: 1}}}}
  publish: {{metric: m}}
"""
A_B = sha256(b"a/b").hexdigest()[:8]
values = st.lists(st.text(st.sampled_from("ab/_-. é"), min_size=1, max_size=70), max_size=12)


def shown(by: str, **loads: float) -> dict[str, str]:
    loaded = policy(FLEET.format(by=by))
    series = [one("load", load, pod=model, model=model) for model, load in loads.items()]
    groups = outcomes(loaded, tick(loaded, series))
    return {group.labels["model"]: group.outcome.text for group in groups if isinstance(group.outcome, Signal)}


def test_a_value_that_is_spelt_like_the_alias_keeps_it_and_the_other_is_marked() -> None:
    assert shown("[model]", **{"a/b": 3.0, "a__b": 5.0}) == {f"a__b-{A_B}": "3", "a__b": "5"}


def test_a_declared_value_keeps_its_alias_when_a_newcomer_is_spelt_so() -> None:
    found = shown("{model: [a/b]}", **{"a/b": 3.0, "a__b": 5.0})
    newcomer = f"a__b-{sha256(b'a__b').hexdigest()[:8]}"
    assert found == {"a__b": "3", newcomer: "5"}


def test_of_two_that_are_only_seen_neither_takes_the_alias() -> None:
    found = shown("[model]", **{"a/b": 3.0, "a b": 5.0})
    assert found == {f"a__b-{A_B}": "3", f"a__b-{sha256(b'a b').hexdigest()[:8]}": "5"}


def test_two_declared_values_with_one_alias_are_refused_at_the_second() -> None:
    loaded, problems = read_policies(HEAD + FLEET.format(by="{model: [a/b, c, a__b]}"), "p.yaml", LIBRARY)
    assert loaded == []
    (problem,) = problems
    assert (problem.code, problem.position.line, problem.position.column) == ("alias-collision", 5, 24)
    assert '"a/b" and "a__b" are both served as a__b' in problem.message


@given(values, values)
def test_names_are_label_values_and_no_two_are_alike(seen: list[str], declared: list[str]) -> None:
    names = names_of(seen, declared)
    assert set(names) == {*seen, *declared}
    assert len(set(names.values())) == len(names)
    assert [name for name in names.values() if value_faults(name)] == []


@given(values)
def test_a_name_does_not_depend_on_the_order_in_which_values_come(seen: list[str]) -> None:
    assert names_of(seen) == names_of(list(reversed(seen)))


def test_a_mark_keeps_a_long_name_within_what_a_label_may_have() -> None:
    # 54 of 63 characters stay for the alias: a hyphen and eight digits follow.
    assert marked("x" * 80) == "x" * 54 + "-" + sha256(b"x" * 80).hexdigest()[:8]
