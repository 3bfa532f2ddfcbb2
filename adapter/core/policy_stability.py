"""What a policy says about steadiness, combination, schedules and budgets.

Models only; the arithmetic stands in bounds, combining and schedules.
"""

from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import Field, model_validator

from adapter.core.bounds import Amount
from adapter.core.policy_fields import InputName, Model, NotNegative, Number, Span
from adapter.core.refusals import Refusal, refuse
from adapter.core.schedules import EPOCH
from adapter.core.units import parse_number, parse_share
from adapter.core.written_forms import ALLOWED, Fragment, share_form, written

AMOUNT_FORMS = "write a number of replicas, a share such as 10%, or {replicas: 1, share: 10%} for the larger of both"


def _amount(value: object) -> Amount:
    if isinstance(value, Amount):
        return value
    pair = value if isinstance(value, dict) else {"share" if str(value).endswith("%") else "replicas": value}
    if not pair or not set(pair) <= {"replicas", "share"}:
        raise refuse("amount", "an amount names replicas, share or both", AMOUNT_FORMS)
    found = Amount(parse_number(pair.get("replicas", 0)), parse_share(pair.get("share", 0)))
    if found.replicas < 0 or found.share < 0:
        raise refuse("value-range", f"{value} must not be below 0", AMOUNT_FORMS)
    return found


_SHARE_OR_NUMBER: Fragment = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*%$"}]
}
_BOTH: Fragment = {
    "type": "object",
    "properties": {"replicas": _SHARE_OR_NUMBER["anyOf"][0], "share": share_form()},
    "minProperties": 1,
    "additionalProperties": False,
}
AMOUNT_ALLOWED = "replicas, a share such as 10%, or {replicas: 1, share: 10%}: the larger of both"
AmountField = Annotated[
    Amount,
    Refusal(_amount),
    written({"anyOf": [*_SHARE_OR_NUMBER["anyOf"], _BOTH], ALLOWED: AMOUNT_ALLOWED}),
]


class AmountByDirection(Model):
    """An amount for each direction."""

    up: AmountField | None = Field(default=None, description="For coming.")
    down: AmountField | None = Field(default=None, description="For going.")


class TimeByDirection(Model):
    """A time for each direction."""

    up: Span | None = Field(default=None, description="For coming.")
    down: Span | None = Field(default=None, description="For going.")


class Stability(Model):
    """What keeps a signal from moving: each by direction, none by default."""

    hysteresis: AmountByDirection = Field(
        default=AmountByDirection(),
        description="Width within which a demand does not move N; a whole replica of width is a GPU paid for.",
    )
    step: AmountByDirection = Field(
        default=AmountByDirection(), description="How far one tick may move the signal from N."
    )
    cooldown: TimeByDirection = Field(
        default=TimeByDirection(), description="Time after a change of N in which there is no other in that direction."
    )
    credit: Span | None = Field(
        default=None,
        description=("Replicas that start count as there for this long after they were asked for; off by default."),
    )


class Combine(Model):
    """How the terms' demands become one, on each coordinate."""

    weighted: dict[InputName, Number] | None = Field(
        default=None, description="Weighted mean of the terms' demands, by term."
    )
    expression: str | None = Field(
        default=None, description='Expression over the terms\' demands, e.g. "max(load, compute)".'
    )

    @model_validator(mode="after")
    def _one_form(self) -> "Combine":
        if (self.weighted is None) == (self.expression is None):
            raise refuse("combine", "combine names weighted or expression, one of them", COMBINE_FORMS)
        return self


COMBINE_FORMS = "write max, min, sum, {weighted: {load: 2, compute: 1}} or {expression: 'max(load, compute)'}"
CombineRule = Literal["max", "min", "sum"] | Combine


def _zone(value: object) -> str:
    try:
        ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise refuse("zone", f'"{value}" is no time zone', "write a name such as Europe/Berlin or UTC") from None
    return str(value)


def _cron(value: object) -> str:
    try:
        CronSim(str(value), EPOCH)
    except CronSimError as error:
        fix = "write minute hour day month weekday, e.g. 0 8 * * 1-5"
        raise refuse("cron", f'"{value}" is no cron expression: {error}', fix) from None
    return str(value)


class Schedule(Model):
    """A floor or ceiling for some time after each time that a cron expression names, in a zone."""

    cron: Annotated[str, Refusal(_cron)] = Field(description="When it begins: minute, hour, day, month, weekday.")
    zone: Annotated[str, Refusal(_zone)] = Field(default="UTC", description="Time zone of cron, e.g. Europe/Berlin.")
    for_: Span = Field(alias="for", description="How long it is in force.")
    floor: NotNegative | None = Field(default=None, description="Floor while it is in force.")
    ceiling: Number | None = Field(default=None, description="Ceiling while it is in force.")

    @model_validator(mode="after")
    def _says_something(self) -> "Schedule":
        if self.floor is None and self.ceiling is None:
            raise refuse(
                "schedule", "a schedule names floor, ceiling or both", "e.g. {cron: 0 8 * * 1-5, for: 10h, floor: 4}"
            )
        return self


class Budget(Model):
    """A ceiling by the GPUs there are."""

    gpus: Number = Field(description="GPUs there are for this workload.")
    gpus_per_replica: Number = Field(description="GPUs of one replica.")

    @property
    def ceiling(self) -> float:
        """Whole replicas that fit."""
        return float(self.gpus // self.gpus_per_replica)
