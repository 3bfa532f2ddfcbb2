"""What expressions may name: the inputs of a policy at an instant as single numbers, N and the ready pods.

`gpu` is the mean over pods for a ratio, a latency or a temperature, else the sum; `gpu_max`, `gpu_min`, `gpu_mean`,
`gpu_sum` say which is meant, `gpu_count` how many pods report. A name with - is written with _. A missing input has no
value, so that what is said about it is unknown.
"""

from collections.abc import Callable, Iterable, Mapping
from math import fsum

from adapter.core.input_plans import InputPlan
from adapter.core.replica_states import ReplicaState
from adapter.core.series_readings import Reading
from adapter.core.units import Unit

SUFFIXES = ("", "_max", "_min", "_mean", "_sum", "_count")


def identifier(name: str) -> str:
    """An input's name as expressions write it."""
    return name.replace("-", "_")


def names_of(inputs: Iterable[str]) -> list[str]:
    """Every name that an expression of a policy with these inputs may use."""
    own = [identifier(name) for name in inputs if ":" not in name]  # those that guards bring along have no name here
    return [*(name + suffix for name in own for suffix in SUFFIXES), "n", "ready"]


def inputs_in(names: Iterable[str], inputs: Iterable[str]) -> list[str]:
    """The inputs that an expression's names speak of, in the inputs' order."""
    used = set(names)
    return [name for name in inputs if any(identifier(name) + suffix in used for suffix in SUFFIXES)]


def variables(
    inputs: Mapping[str, InputPlan], reading: Callable[[str], Reading], replicas: ReplicaState, wanted: Iterable[str]
) -> dict[str, float]:
    """The values of the names wanted that have one."""
    found: dict[str, float] = {}
    for name in inputs_in(wanted, inputs):
        plain, plan = identifier(name), inputs[name]
        values = [measured.value for measured in reading(name).values.values()]
        if not values:
            continue
        total = fsum(values)
        mean = total / len(values)
        is_mean = plan.unit.base in (Unit.RATIO, Unit.SECONDS, Unit.CELSIUS)
        each = (mean if is_mean else total, max(values), min(values), mean, total, float(len(values)))
        found.update({plain + suffix: value for suffix, value in zip(SUFFIXES, each, strict=True)})
    if replicas.n is not None:
        found["n"] = replicas.n
    if replicas.ready is not None:
        found["ready"] = float(replicas.ready)
    return found
