"""Accounts: a signal as it is told to people, as plain data: its value, how it came about, and its last changes.

One shape for the metrics address, the API and the command. Who may see an account is settled before; this knows no
identity and no HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from adapter.core.external_metrics import render_json
from adapter.core.headlines import headline
from adapter.core.histories import SignalHistory
from adapter.core.label_selectors import LabelSelector
from adapter.core.policy import Policy
from adapter.core.signals import GroupSignal, NoSignal, Signal
from adapter.selected import read_selector

MAX_EXPLAINED = 100
MAX_WITH_HISTORY = 20
"""An account is about 3 KB and a history 12 KB; more is narrowed by a selector, so that no answer blocks the others."""

NARROW = "select some by labelSelector"


class TooManyError(ValueError):
    """More signals were asked for than are told at once; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which signals to tell of, and how much of each."""

    namespace: str | None = None
    policy: str | None = None
    metric: str | None = None
    label_selector: str = ""
    with_history: bool = False
    is_summary: bool = False

    @property
    def selector(self) -> LabelSelector | None:
        """The selector, read; SelectorError if it is none."""
        return read_selector(self.label_selector) if self.label_selector else None

    @property
    def limit(self) -> int:
        """How many signals are told at once."""
        return MAX_WITH_HISTORY if self.with_history else MAX_EXPLAINED

    def has(self, namespace: str, policy: str, metric: str) -> bool:
        """Whether the policy is among what is wanted."""
        wanted = ((self.namespace, namespace), (self.policy, policy), (self.metric, metric))
        return all(mine is None or mine == its for mine, its in wanted)


def read_wanted(parameters: Mapping[str, str]) -> Wanted:
    """What the parameters of a request ask for."""
    return Wanted(
        namespace=parameters.get("namespace"),
        policy=parameters.get("policy"),
        metric=parameters.get("metric"),
        label_selector=parameters.get("labelSelector", ""),
        with_history=is_yes(parameters, "history"),
        is_summary=is_yes(parameters, "summary"),
    )


def is_yes(parameters: Mapping[str, str], name: str) -> bool:
    """Whether a parameter is there and says neither `false` nor `0` nor nothing, as Kubernetes reads `watch`."""
    return parameters.get(name, "").lower() not in ("", "false", "0")


def signal_account(
    policy: Policy, t: float | None, group: GroupSignal, history: SignalHistory | None, with_history: bool
) -> dict[str, object]:
    """One signal with its account; numbers that are unbounded or unknown are null."""
    publish = policy.spec.publish
    account: dict[str, object] = {
        "namespace": policy.metadata.namespace,
        "policy": policy.metadata.name,
        "metric": publish.metric,
        "published_as": publish.as_,
        "labels": dict(group.labels),
        "t": t,
        "headline": headline(group, publish.as_),
        **_outcome(group.outcome),
        "changes": [change.as_data() for change in reversed(history.changes)] if history is not None else [],
    }
    if with_history:
        account["history"] = history.as_data() if history is not None else None
    return account


def _outcome(outcome: Signal | NoSignal) -> dict[str, object]:
    why = outcome.why.as_data() if outcome.why is not None else None
    match outcome:
        case Signal():
            return {"value": outcome.text, "as_of": outcome.as_of, "reason": None, "message": "", "why": why}
        case NoSignal(missing):
            return {"value": None, "as_of": None, "reason": missing.reason, "message": missing.message, "why": why}


def summary(account: Mapping[str, object]) -> dict[str, object]:
    """What a list of signals shows of an account."""
    shown = ("namespace", "policy", "metric", "labels", "t", "headline", "value", "reason")
    why = account["why"]
    return {**{key: account[key] for key in shown}, "n": why["n"] if isinstance(why, dict) else None}


def render_explanation(now: float, accounts: list[dict[str, object]]) -> bytes:
    """The answer to whoever asks: the adapter's own time, by which ages are counted, and the signals."""
    return render_json(
        {"kind": "Explanation", "apiVersion": "scaleproof.dev/v1alpha1", "now": now, "signals": accounts}
    )
