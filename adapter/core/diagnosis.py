"""Diagnosis: what limits a workload, told from its inputs by a table, and whether more replicas would help.

The table is data. A row is a name, a condition over roles (gpu, vram, kv, queue, …) and words; the first that is true
counts. Inputs have roles by their preset or by their own word. In a policy's conditions each row's name is true or
false, with _ for -, and `replicas_help` says what the row that counts says.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field, field_validator

from adapter.core.expressions import Expression, parse_expression
from adapter.core.policy_fields import Model


class DiagnosisRow(Model):
    """One bottleneck."""

    name: str
    when: str
    replicas_help: bool
    about: str

    @field_validator("when")
    @classmethod
    def _is_expression(cls, value: str) -> str:
        parse_expression(value)
        return value

    @property
    def condition(self) -> Expression:
        """The condition, compiled once for its text."""
        return parse_expression(self.when)

    @property
    def identifier(self) -> str:
        """The name as conditions write it."""
        return self.name.replace("-", "_")


class DiagnosisTable(Model):
    """The rows in the order in which they are tried, and the presets that have each role."""

    apiVersion: str
    kind: str
    roles: dict[str, tuple[str, ...]]
    diagnoses: tuple[DiagnosisRow, ...] = Field(min_length=1)

    def role_of(self, preset: str) -> str | None:
        """The role of a preset."""
        return next((role for role, presets in self.roles.items() if preset in presets), None)

    @property
    def names(self) -> tuple[str, ...]:
        """What conditions may name of a diagnosis."""
        return (*(row.identifier for row in self.diagnoses), REPLICAS_HELP)


REPLICAS_HELP = "replicas_help"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The row that counts."""

    name: str
    replicas_help: bool
    about: str


def diagnose(table: DiagnosisTable, roles: Mapping[str, float]) -> Diagnosis | None:
    """The first row whose condition is true of the roles' values; None where none is."""
    for row in table.diagnoses:
        if row.condition.evaluate(roles) is True:
            return Diagnosis(row.name, row.replicas_help, row.about)
    return None


def truths(table: DiagnosisTable, roles: Mapping[str, float]) -> dict[str, bool]:
    """What conditions see of a diagnosis: each name, true or false; none of those whose roles have no value.

    `replicas_help` has a value wherever a row counts.
    """
    found: dict[str, bool] = {}
    for row in table.diagnoses:
        result = row.condition.evaluate(roles)
        if isinstance(result, bool):
            found[row.identifier] = result
    counting = diagnose(table, roles)
    if counting is not None:
        found[REPLICAS_HELP] = counting.replicas_help
    return found
