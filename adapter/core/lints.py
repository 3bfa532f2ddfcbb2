"""Lints: what is allowed and likely to scale badly, each with the number that shows it.

All are warnings: they never refuse a policy. This module asks the modules of lints one after the other; each code has
a page in docs/lints with its evidence.
"""

from adapter.core import idle_shares, input_lints, query_lints, term_lints
from adapter.core.documents import Document
from adapter.core.lint_catalogue import Group
from adapter.core.lint_subject import Subject
from adapter.core.problems import Problem, Severity
from adapter.core.silencing import apply_silence


def lint(subject: Subject, document: Document) -> list[Problem]:
    """Every warning about a policy that has no error, without those that it silences."""
    found = [
        *input_lints.find(subject),
        *query_lints.find(subject),
        *term_lints.find(subject),
        *idle_shares.find(subject),
    ]
    problems = [
        Problem(
            document.file,
            document.value_at(one.path),
            one.code,
            f"{'.'.join(map(str, one.path))}: {one.message}",
            one.fix,
            Severity.WARNING,
        )
        for one in found
    ]
    return apply_silence(problems, subject.policy, document, frozenset({Group.POLICY}))
