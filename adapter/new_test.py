"""The test that `scaleproof new` writes beside a policy and its HPA: a load that doubles, one that halves, an outage.

Pure: answers in, a text out. The numbers follow from the answers, so the test passes as it is written, and fails once
the policy is made wrong (`scaleproof test --mutate`), which tests hold for every engine.
"""

from math import ceil

from adapter.core.plans import default_offset
from adapter.core.presets import PresetLibrary
from adapter.core.units import show_duration
from adapter.new_policy import Answers, inputs_of

SPELL_SECONDS = 300
DOWN_WINDOW_SECONDS = 300
HPA_SYNC_SECONDS = 15

_HEAD = """\
# What {name}.yaml has to do. Rows are {step} apart, and a row is seen {offset} later, at the next tick. Put in the
# numbers of your own workload, or `trace: FILE` of a recording (`scaleproof record`).
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingTest
policy: {name}.yaml
hpa: {name}-hpa.yaml
tests:
"""

_LOAD = """\
- name: more requests in flight need more replicas, and fewer go five minutes after they ended
  # {low:g} in flight ÷ {each:g} = {few}, {high:g} ÷ {each:g} = {many}.
  replicas: {few}
  series:
{series}
  expect:
  - {{at: {before}, signal: {few}, replicas: {few}}}
  - {{within: [{before}, {risen}], signal: {many}, replicas: {many}}}
  - {{at: {still}, replicas: {many}}}
  - {{within: [{still}, {fallen}], signal: {few}, replicas: {few}}}
"""

_OUTAGE = """\
- name: the scrape is lost for ten minutes, and nothing goes
  replicas: {many}
  series:
{series}
  faults:
  - {{kind: empty, inputs: [{names}], at: {start}, for: 10m}}
  expect:
  - {{always: "replicas == {many}"}}
"""


def test_text(answers: Answers, library: PresetLibrary) -> str:
    """The test file."""
    step, each = answers.scrape_seconds, answers.per_replica
    offset = default_offset(step)
    few, many = answers.minimum, min(2 * answers.minimum, answers.maximum)
    rows = ceil(SPELL_SECONDS / step)
    seen = offset + 2 * max(1.0, step) + 2 * HPA_SYNC_SECONDS
    others = [name for name in inputs_of(answers, library) if name != "flight"]
    head = _HEAD.format(name=answers.name, step=show_duration(step), offset=show_duration(offset))
    text = head
    if many > few:
        low, high = few * each, many * each
        load = f"{low:g}x{rows - 1} {high:g}x{rows - 1} {low:g}x{3 * rows}"
        text += _LOAD.format(
            low=low,
            high=high,
            each=each,
            few=few,
            many=many,
            series=_series({"flight": load} | dict.fromkeys(others, f"0x{5 * rows}")),
            before=show_duration(rows * step),
            risen=show_duration(rows * step + seen),
            still=show_duration(2 * rows * step + DOWN_WINDOW_SECONDS / 2),
            fallen=show_duration(2 * rows * step + DOWN_WINDOW_SECONDS + seen),
        )
    text += _OUTAGE.format(
        many=many,
        series=_series({"flight": f"{many * each:g}x{4 * rows}"} | dict.fromkeys(others, f"0x{4 * rows}")),
        names=", ".join(["flight", *others]),
        start=show_duration(rows * step),
    )
    return text


test_text.__test__ = False  # type: ignore[attr-defined]  # pytest: no test of its own


def _series(columns: dict[str, str]) -> str:
    return "\n".join(f'    {name}: "{values}"' for name, values in columns.items())
