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


AmountField = Annotated[Amount, Refusal(_amount)]


class AmountByDirection(Model):
    """An amount for each direction."""

    up: AmountField | None = None
    down: AmountField | None = None


class TimeByDirection(Model):
    """A time for each direction."""

    up: Span | None = None
    down: Span | None = None


class Stability(Model):
    """What keeps a signal from moving: each by direction, none by default."""

    hysteresis: AmountByDirection = AmountByDirection()
    step: AmountByDirection = AmountByDirection()
    cooldown: TimeByDirection = TimeByDirection()
    credit: Span | None = None


class Combine(Model):
    """How the terms' demands become one, on each coordinate."""

    weighted: dict[InputName, Number] | None = None
    expression: str | None = None

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

    cron: Annotated[str, Refusal(_cron)]
    zone: Annotated[str, Refusal(_zone)] = "UTC"
    for_: Span = Field(alias="for")
    floor: NotNegative | None = None
    ceiling: Number | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Schedule":
        if self.floor is None and self.ceiling is None:
            raise refuse(
                "schedule", "a schedule names floor, ceiling or both", "e.g. {cron: 0 8 * * 1-5, for: 10h, floor: 4}"
            )
        return self


class Budget(Model):
    """A ceiling by the GPUs there are."""

    gpus: Number
    gpus_per_replica: Number

    @property
    def ceiling(self) -> float:
        """Whole replicas that fit."""
        return float(self.gpus // self.gpus_per_replica)
