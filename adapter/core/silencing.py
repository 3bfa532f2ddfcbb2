"""Silencing: lints that a policy says it knows better than, each with its reason.

`metadata.annotations: {scaleproof.dev/ignore: "CODE: reason, CODE: reason"}`. A reason is required, errors cannot be
silenced, and what is silenced without occurring is itself a lint, so that no exception outlives its cause.
"""

import re
from collections.abc import Mapping, Sequence

from adapter.core.documents import Document, Path
from adapter.core.lint_catalogue import CATALOGUE, Group
from adapter.core.policy import Policy
from adapter.core.problems import Problem, Severity

ANNOTATION = "scaleproof.dev/ignore"
FORM = f'write {ANNOTATION}: "CODE: why it does not hold here, CODE2: why"'

_PATH: Path = ("metadata", "annotations", ANNOTATION)
_ENTRY = re.compile(r"(?:^|,)\s*([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\s*:")


def silenced(policy: Policy) -> Mapping[str, str]:
    """The reasons of a policy by the code that each silences, empty where there is none."""
    text = policy.metadata.annotations.get(ANNOTATION, "")
    entries = list(_ENTRY.finditer(text))
    ends = [*(entry.start() for entry in entries[1:]), len(text)][: len(entries)]
    return {entry.group(1): text[entry.end() : end].strip(" ,") for entry, end in zip(entries, ends, strict=True)}


def apply_silence(
    problems: Sequence[Problem], policy: Policy, document: Document, looked_at: frozenset[Group]
) -> list[Problem]:
    """The problems without those silenced, and with those of the silencing itself, for the groups looked at."""
    text = policy.metadata.annotations.get(ANNOTATION)
    if text is None:
        return list(problems)
    reasons = silenced(policy)
    kept = [
        problem
        for problem in problems
        if problem.severity is Severity.ERROR or not _counts(problem.code, reasons.get(problem.code, ""))
    ]
    found = {problem.code for problem in problems}
    if Group.POLICY in looked_at and not reasons:
        kept.append(_problem(document, "ignore-invalid", "no code is named, so nothing is silenced", FORM))
    for code, reason in reasons.items():
        rule = CATALOGUE.get(code)
        if Group.POLICY in looked_at and not _counts(code, reason):
            kept.append(_problem(document, "ignore-invalid", *_why_not(code, reason)))
        elif rule is not None and rule.group in looked_at and _counts(code, reason) and code not in found:
            kept.append(_problem(document, "ignore-unused", f"{code} does not occur", f"remove {code}"))
    return kept


def _counts(code: str, reason: str) -> bool:
    rule = CATALOGUE.get(code)
    return rule is not None and rule.can_be_silenced and bool(reason)


def _why_not(code: str, reason: str) -> tuple[str, str]:
    rule = CATALOGUE.get(code)
    if rule is None:
        return f"no lint has the code {code}", "remove it; check tells the codes, docs/lints has them all"
    if not rule.can_be_silenced:
        return f"{code} cannot be silenced", "put right what it says"
    return f"{code} is silenced without a reason, which does not count", FORM


def _problem(document: Document, code: str, message: str, fix: str) -> Problem:
    where = ".".join(str(step) for step in _PATH)
    return Problem(document.file, document.value_at(_PATH), code, f"{where}: {message}", fix, Severity.WARNING)
