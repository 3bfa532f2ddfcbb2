"""Every preset against a sample of its exporters, with the numbers worked out by hand beside the sample."""

import pytest
from policy_world import T, answer_to
from preset_samples import (
    FAMILIES,
    LIBRARY,
    Ask,
    Expected,
    check_reading,
    expected_file,
    expected_of,
    input_plan,
    read,
    read_replicas,
    sample_file,
    series_of,
)

from adapter.core.samples import Answer

CASES = [one for family in FAMILIES for one in expected_of(family)]
REPLICAS = [
    (f"{family}/{name}", said)
    for family in FAMILIES
    for name, said in expected_file(family).get("replicas", {}).items()
]


def fake(family: str) -> Ask:
    series = series_of(family, T)

    def ask(query: str, _is_raw: bool) -> Answer:
        return answer_to(query, series)

    return ask


@pytest.mark.parametrize("expected", CASES, ids=[one.name for one in CASES])
def test_a_preset_makes_of_its_sample_what_was_worked_out(expected: Expected) -> None:
    plan, one = input_plan(expected)
    reading = read(plan, one, fake(expected.name.split("/")[0]), T)
    check_reading(expected, reading, T, lambda value: pytest.approx(value, rel=1e-12))


@pytest.mark.parametrize(("name", "said"), REPLICAS, ids=[name for name, _ in REPLICAS])
def test_a_preset_for_replicas_knows_their_number_and_the_ready_pods(name: str, said: dict[str, object]) -> None:
    ask = fake(name.split("/")[0])
    match = said["match"]
    assert isinstance(match, dict)
    assert read_replicas(name, match, lambda _plan: ask, T) == (said["spec"], said["ready"], said["pods"])


def test_every_preset_has_a_sample_and_every_sample_a_preset() -> None:
    inputs, replicas = LIBRARY.names()
    assert sorted(one.name for one in CASES) == list(inputs)
    assert sorted(name for name, _ in REPLICAS) == list(replicas)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_series_of_a_family_is_in_its_sample(family: str) -> None:
    text = sample_file(family).read_text()
    names = [name for name in LIBRARY.names()[0] if name.startswith(f"{family}/")]
    for name in names:
        preset = LIBRARY.input(name)
        assert preset is not None
        for series in preset.series.values():
            assert any(f"\n{metric}{{" in text for metric in series.metrics), f"{name}: {series.metrics}"


@pytest.mark.parametrize("name", LIBRARY.names()[0])
def test_what_a_preset_shares_or_gates_are_series_of_it(name: str) -> None:
    preset = LIBRARY.input(name)
    assert preset is not None
    named = set()
    if preset.share is not None:
        named |= {preset.share.used, *preset.share.of} | ({preset.share.instead} - {None})
    if preset.gate is not None:
        named |= {preset.gate.value, preset.gate.where}
    assert named <= set(preset.series)
