"""The test document: the fields of `X.test.yaml`, checked as strictly as a policy.

Times are durations after the trace's start, on the trace's own clock. What a document asks for is turned into the
records of the runner here; what becomes of it is the business of `running`.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from adapter.core.expressions import Expression, ExpressionError, parse_expression
from adapter.core.policy_fields import Span
from adapter.core.refusals import refuse
from adapter.core.units import parse_duration
from sim.faults import (
    AdapterRestart,
    AnswerFault,
    AnswerKind,
    ControllerRestart,
    Fault,
    ScaleEdit,
    ScaleFails,
    UnreadyPods,
)
from sim.hpa.versions import DEFAULT_VERSION
from sim.replay.parameters import Mode, Parameters, Startup, parse_startup

MAX_TESTS = 1000
MAX_ITEMS = 1000
MAX_SECONDS = 86_400.0 * 366


class Model(BaseModel):
    """A strict mapping: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _instant(value: object) -> float:
    seconds = 0.0 if value in (0, "0") else parse_duration(str(value))
    if not 0 <= seconds <= MAX_SECONDS:
        raise ValueError(f"{value} must be from 0s to 366d")
    return seconds


def _expression(value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    try:
        return parse_expression(str(value))
    except ExpressionError as error:
        raise refuse("expression", f"{error} (at character {error.column})", "write e.g. replicas >= 2") from error


def _range(value: object) -> object:
    return {"min": value, "max": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


Instant = Annotated[float, BeforeValidator(_instant)]
Condition = Annotated[Expression, BeforeValidator(_expression)]

FAULT_KINDS = (*(one.value for one in AnswerKind), "controller-restart", "adapter-restart", "scale-edit",
               "unready-pods", "scale-unreadable", "scale-unwritable")  # fmt: skip


class FaultItem(Model):
    """One fault: what goes wrong, when, and for how long."""

    kind: str
    at: Instant
    for_: Instant = Field(default=0.0, alias="for")
    inputs: tuple[str, ...] = Field(default=(), max_length=100)
    delay: Span | None = None
    replicas: int | None = Field(default=None, ge=0, le=1_000_000)
    pods: int | None = Field(default=None, ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _fit_together(self) -> "FaultItem":
        if self.kind not in FAULT_KINDS:
            raise refuse("fault-kind", f'"{self.kind}" is no fault', f"write one of {', '.join(FAULT_KINDS)}")
        needs_no_span = ("controller-restart", "scale-edit", "adapter-restart")
        if self.kind not in needs_no_span and self.for_ <= 0:
            raise refuse("fault-span", f"{self.kind} needs a time it lasts", "write e.g. for: 5m")
        for name, kinds in (("replicas", ("scale-edit",)), ("pods", ("unready-pods",)), ("delay", ("slow",))):
            if getattr(self, name) is not None and self.kind not in kinds:
                raise refuse("fault-field", f"{name} means nothing for {self.kind}", f"it belongs to {kinds[0]}")
        if self.kind == "scale-edit" and self.replicas is None:
            raise refuse("fault-field", "scale-edit needs the replicas that somebody writes", "write e.g. replicas: 3")
        return self

    def fault(self) -> Fault:
        """As the runner takes it."""
        match self.kind:
            case "controller-restart":
                return ControllerRestart(self.at)
            case "adapter-restart":
                return AdapterRestart(self.at, self.for_)
            case "scale-edit":
                return ScaleEdit(self.at, self.replicas or 0)
            case "unready-pods":
                return UnreadyPods(self.at, self.for_, self.pods)
            case "scale-unreadable" | "scale-unwritable":
                return ScaleFails(self.at, self.for_, is_write=self.kind == "scale-unwritable")
            case kind:
                delay = float("inf") if self.delay is None else self.delay
                return AnswerFault(AnswerKind(kind), self.at, self.for_, frozenset(self.inputs), delay)


class Bounds(Model):
    """A number from min to max; a plain number is both."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _say_something(self) -> "Bounds":
        if self.min is None and self.max is None:
            raise refuse("bounds", "a range names min, max or both", "write e.g. {min: 4, max: 6}, or a number")
        return self

    def holds(self, value: float) -> bool:
        """Whether the number is within, to a thousandth: that is what a Quantity carries."""
        return not (
            (self.min is not None and value < self.min - 0.0005) or (self.max is not None and value > self.max + 0.0005)
        )

    @property
    def text(self) -> str:
        """As one says it."""
        if self.min == self.max:
            return f"{self.min:g}"
        if self.min is None or self.max is None:
            return f"≥ {self.min:g}" if self.max is None else f"≤ {self.max:g}"
        return f"{self.min:g} to {self.max:g}"


Numbers = Annotated[Bounds, BeforeValidator(_range)]

CHECKS = ("replicas", "ready", "signal", "missing", "decision", "always", "never", "sometimes")


class Expectation(Model):
    """What has to be: `at` an instant, or at some, every or no sync of a span."""

    at: Instant | None = None
    within: tuple[Instant, Instant] | None = None
    metric: str | None = Field(default=None, max_length=253)
    replicas: Numbers | None = None
    ready: Numbers | None = None
    signal: Numbers | None = None
    missing: str | None = Field(default=None, max_length=100)
    decision: str | None = Field(default=None, max_length=100)
    always: Condition | None = None
    never: Condition | None = None
    sometimes: Condition | None = None

    @model_validator(mode="after")
    def _fit_together(self) -> "Expectation":
        said = [name for name in CHECKS if getattr(self, name) is not None]
        if not said:
            raise refuse("expectation", "nothing is expected", f"name one of {', '.join(CHECKS)}")
        spans = [name for name in said if name in ("always", "never", "sometimes")]
        if spans and (len(said) > 1 or self.at is not None):
            raise refuse("expectation", f"{spans[0]} stands alone, or with within", "write an expectation for each")
        if not spans and (self.at is None) == (self.within is None):
            raise refuse("expectation", "when is not said", "write at: 5m, or within: [5m, 8m] for some time in it")
        if self.within is not None and self.within[0] > self.within[1]:
            raise refuse("expectation", "within ends before it begins", "write the earlier time first")
        if self.signal is not None and self.missing is not None:
            raise refuse("expectation", "a signal cannot be a number and missing", "expect one of them")
        return self


class TestItem(Model):
    """One test: a trace or series, faults, and what is expected."""

    __test__ = False  # pytest: no test of its own

    name: str = Field(min_length=1, max_length=200)
    policy: str | None = Field(default=None, max_length=253)
    hpa: str | None = Field(default=None, max_length=253)
    trace: str | None = Field(default=None, max_length=1000)
    step: Span | None = None
    series: dict[str, str] = Field(default_factory=dict, max_length=MAX_ITEMS)
    replicas: int | None = Field(default=None, ge=0, le=1_000_000)
    faults: tuple[FaultItem, ...] = Field(default=(), max_length=MAX_ITEMS)
    expect: tuple[Expectation, ...] = Field(default=(), max_length=MAX_ITEMS)
    scores: tuple[Condition, ...] = Field(default=(), max_length=MAX_ITEMS)

    @model_validator(mode="after")
    def _fit_together(self) -> "TestItem":
        if (self.trace is None) == (not self.series):
            raise refuse("test-data", "a test plays a trace or series", "write trace: FILE, or series: {INPUT: VALUES}")
        if not self.expect and not self.scores:
            raise refuse("toothless", "nothing is expected, so the test cannot fail", "write expect: or scores:")
        return self


class Replaying(Model):
    """How the runs are made; what is not said has the default of `scaleproof replay`."""

    mode: Mode = Mode.AS_RECORDED
    kubernetes: str = DEFAULT_VERSION
    sync: Span = 15.0
    hpa_phase: Instant = 0.0
    hpa_latency: Instant = 0.0
    scrape: Span | None = None
    scrape_phase: Instant = 0.0
    fill: Span | None = None
    offset: Instant | None = None
    evaluation_phase: Instant = 0.0
    startup: Annotated[Startup, BeforeValidator(lambda value: parse_startup(str(value)))] | None = None
    seed: int = 1

    def parameters(self, replicas: int | None) -> Parameters:
        """As the runner takes them."""
        said = {name: getattr(self, name) for name in type(self).model_fields}
        return Parameters(**said, replicas=replicas)


class TestDocument(Model):
    """One test file."""

    __test__ = False

    api_version: Literal["scaleproof.dev/v1alpha1"] = Field(alias="apiVersion")
    kind: Literal["ScalingTest"]
    policy: str | None = Field(default=None, max_length=1000)
    hpa: str | None = Field(default=None, max_length=1000)
    replay: Replaying = Field(default_factory=Replaying)
    tests: tuple[TestItem, ...] = Field(min_length=1, max_length=MAX_TESTS)

    @field_validator("tests")
    @classmethod
    def _names_differ(cls, tests: tuple[TestItem, ...]) -> tuple[TestItem, ...]:
        names = [test.name for test in tests]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise refuse("test-name", f'two tests are called "{twice}"', "give each a name of its own")
        return tests
