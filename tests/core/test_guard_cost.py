"""A guard says what the plain rule over all ticks says, and judges the cause of a tick once."""

from hypothesis import given
from hypothesis import strategies as st
from policy_world import T, one, outcome, policy, replicas, tick

from adapter.core.guards import GuardPlan, Held, judge
from adapter.core.signals import Signal
from adapter.core.ticks import Tick

steps = st.lists(
    st.tuples(st.integers(min_value=1, max_value=40), st.sampled_from([True, False, None])), min_size=1, max_size=40
)


def by_the_rule(plan: GuardPlan, times: list[float], causes: list[bool | None]) -> tuple[bool, float | None]:
    """The rule as the documentation puts it, from the first tick on: whether it holds, and since when."""
    last_true = since = None
    for time, cause in zip(times, causes, strict=True):
        if cause is True or (cause is None and plan.direction == "down"):
            last_true = time
        if last_true is None or time - last_true > plan.hold:
            since = None
        elif since is None:
            since = time
    if since is None:
        return False, None
    return times[-1] - since < plan.longest, since


@given(
    steps,
    st.sampled_from(["up", "down"]),
    st.integers(min_value=1, max_value=120),
    st.integers(min_value=1, max_value=400),
)
def test_looking_backwards_says_what_the_rule_says(
    story: list[tuple[int, bool | None]], direction: str, hold: int, longest: int
) -> None:
    plan = GuardPlan("when x", float(hold), float(max(hold, longest)), direction)
    times: list[float] = []
    for gap, _ in story:
        times.append((times[-1] if times else 0.0) + gap)
    causes = [cause for _, cause in story]
    is_holding, since = by_the_rule(plan, times, causes)
    text = "free"
    if is_holding and since is not None:
        text = f"holds since {times[-1] - since:.0f} s"
    elif since is not None:
        text = f"held for {plan.longest:g} s without a break, released"
    assert judge(plan, times, causes.__getitem__) == Held(is_holding, f"guard when x: {text}", direction)


def test_a_free_guard_looks_no_further_back_than_its_for() -> None:
    # Ticks each second, `for` 5 s: the causes of now and of the five seconds before decide, of 1,800 ticks.
    looked_at: list[int] = []

    def cause(place: int) -> bool:
        looked_at.append(place)
        return False

    judge(GuardPlan("when x", 5.0, 1800.0), [float(t) for t in range(1800)], cause)
    assert sorted(looked_at) == [1794, 1795, 1796, 1797, 1798, 1799]


GUARDED = """\
  every: 15s
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs: {gpu: {query: gpu, unit: ratio}}
  terms: {compute: {utilization: gpu, target: 70%}}
  guards: [{hold_scale_down: {when: "gpu > 95%", for: 1m, max: 5m}}]
  publish: {metric: m}
"""


def test_ticks_that_were_judged_before_give_the_same_account_as_fresh_ones() -> None:
    loaded = policy(GUARDED)

    def fresh(names: tuple[str, ...]) -> list[Tick]:
        loads = [0.5, 0.99, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
        times = [T - 15 * place for place in reversed(range(len(loads)))]
        return [
            tick(loaded, [one("gpu", load, pod="d-a", at=t - 18), *replicas(2, 1, *names, at=t - 18)], t=t)
            for t, load in zip(times, loads, strict=True)
        ]

    used = fresh(("d-a",))
    for end in range(1, len(used) + 1):
        again = outcome(loaded, *used[:end])
        assert again == outcome(loaded, *fresh(("d-a",))[:end])
        assert isinstance(again, Signal)
    # One tick more of the memory tells names: what was judged without them is judged anew.
    mixed = [*fresh(())[:-1], fresh(("d-a",))[-1]]
    outcome(loaded, *mixed[:-1])
    assert outcome(loaded, *mixed) == outcome(loaded, *[*fresh(())[:-1], fresh(("d-a",))[-1]])
