"""The board: the signals of the moment, rendered once per tick and served many times.

Written by the pollers, read by the server, both on one event loop. An entry that is not renewed runs out, so that a
stuck poller can never serve an old value for ever.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from adapter.accounts import NARROW, TooManyError, Wanted, render_explanation, signal_account, summary
from adapter.core.external_metrics import (
    MetricValue,
    Reply,
    bad_request,
    no_signal,
    render_value_list,
    unknown_metric,
)
from adapter.core.histories import Histories
from adapter.core.label_selectors import LabelSelector, SelectorError
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.policy_status import Shown
from adapter.core.quantity import MAX_VALUE
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, NoSignal
from adapter.selected import Groups, SelectedReplies, read_selector

GRACE_SECONDS = 10.0
MAX_LATE_SECONDS = 30.0
"""An entry holds until its successor is due, then for one tick more, at most this, and for the time of a query."""

STARTING = Missing(Reason.STARTING, "the policy has not been evaluated since the adapter started")
NO_GROUP = Missing(Reason.EMPTY, "no group has been seen")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one policy publishes: its signals by group, the tick they belong to and when they run out."""

    loaded: LoadedPolicy
    t: float | None = None
    groups: Groups = field(default_factory=lambda: Groups(()))
    expires: float = 0.0
    reply: Reply | None = None


class Board:
    """The entries by namespace and metric name in lower case, as the HPA asks for them."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._entries: dict[tuple[str, str], Entry] = {}
        self._selected = SelectedReplies()
        self._histories = Histories()

    def keep(self, policies: Iterable[LoadedPolicy]) -> None:
        """Hold entries for just these policies; what a policy published before it changed stays until its next tick."""
        kept = {}
        for one in policies:
            before = self._entries.get(_key(one))
            is_same = before is not None and before.loaded.policy.key == one.policy.key
            kept[_key(one)] = before if before is not None and is_same else Entry(one)
        self._entries = kept
        self._histories.keep(entry.loaded.policy.key for entry in kept.values())

    def publish(self, loaded: LoadedPolicy, t: float, groups: Sequence[GroupSignal]) -> None:
        """Put up the signals of a tick; the answer without a selector is rendered here, once."""
        if _key(loaded) not in self._entries:
            return  # withdrawn while it was being evaluated
        metric, published_as = loaded.policy.spec.publish.metric, loaded.policy.spec.publish.as_
        self._histories.record(loaded.policy.key, t, published_as, groups)
        entry = Entry(loaded, t, Groups(groups), t + _life_seconds(loaded.plan.every))
        reply = _render(entry, metric, entry.groups.all)
        self._entries[_key(loaded)] = Entry(loaded, t, entry.groups, entry.expires, reply)

    def reply(self, namespace: str, metric: str, label_selector: str) -> Reply:
        """The answer to a GET of the metric; every error is a Status."""
        entry = self._entries.get((namespace, metric.lower()))
        try:
            selector = read_selector(label_selector) if label_selector else None
        except SelectorError as error:
            return bad_request(str(error)).reply()
        if entry is None:
            return unknown_metric(metric).reply()
        missing = self._age(entry)
        if missing is not None or entry.reply is None:
            return _no_signal(metric, missing or STARTING, entry.t)
        if selector is None and metric == entry.loaded.policy.spec.publish.metric:
            return entry.reply
        key = (namespace, metric, label_selector)
        reply = self._selected.get(key, entry.groups)
        if reply is None:
            reply = _render(entry, metric, entry.groups.selected(selector))
            self._selected.keep(key, entry.groups, reply)
        return reply

    def shown(self, loaded: LoadedPolicy) -> Shown:
        """The signals of a policy, and why there are none."""
        entry = self._entries.get(_key(loaded))
        if entry is None or entry.loaded is not loaded or entry.t is None:
            return Shown(None, (), STARTING)
        return Shown(entry.t, entry.groups.all, self._age(entry))

    def _age(self, entry: Entry) -> Missing | None:
        if entry.t is None:
            return STARTING
        if self.now() > entry.expires:
            return Missing(Reason.STALE, f"the last evaluation was {self.now() - entry.t:.0f} s ago")
        return None

    def explain(self, namespace: str, metric: str, wanted: Wanted) -> Reply:
        """The account of a metric to whoever may read the metric; what is found, and what is not, is as for `reply`."""
        entry = self._entries.get((namespace, metric.lower()))
        try:
            selector = wanted.selector
        except SelectorError as error:
            return bad_request(str(error)).reply()
        found = self._found(entry, selector) if entry is not None else ()
        if entry is None or not found:
            return unknown_metric(metric).reply()
        if len(found) > wanted.limit:
            return bad_request(f"{len(found)} signals, at most {wanted.limit} are explained at once: {NARROW}").reply()
        accounts = [self._account(entry, one, wanted) for one in found]
        return Reply(200, render_explanation(self.now(), accounts), entry.t)

    def account(self) -> list[dict[str, object]]:
        """Every signal with its account, as plain data."""
        return self.accounts(Wanted())

    def accounts(self, wanted: Wanted) -> list[dict[str, object]]:
        """The signals that are wanted, of all namespaces; SelectorError if its selector is none."""
        selector = wanted.selector
        found = []
        for entry in self._entries.values():
            namespace, policy = entry.loaded.policy.key
            if not wanted.has(namespace, policy, entry.loaded.policy.spec.publish.metric):
                continue
            found += [(entry, one) for one in self._found(entry, selector)]
        if wanted.with_history and len(found) > wanted.limit:
            raise TooManyError(f"{len(found)} signals, at most {wanted.limit} with their history at once: {NARROW}")
        return [self._account(entry, one, wanted) for entry, one in found]

    def _found(self, entry: Entry, selector: LabelSelector | None) -> Sequence[GroupSignal]:
        """The signals that the selector matches; where there are none to select from, one that says why."""
        missing = self._age(entry)
        if missing is None and entry.loaded.policy.spec.by and not entry.groups.all:
            missing = NO_GROUP
        return entry.groups.selected(selector) if missing is None else [GroupSignal({}, NoSignal(missing))]

    def _account(self, entry: Entry, group: GroupSignal, wanted: Wanted) -> dict[str, object]:
        history = self._histories.of(entry.loaded.policy.key, group.labels)
        plan = entry.loaded.plan
        account = {
            **signal_account(entry.loaded.policy, entry.t, group, history, wanted.with_history),
            "source": plan.source,
            "queries": [plan.asked(query, is_raw) for query, is_raw in plan.queries],
        }
        return summary(account) if wanted.is_summary else account


def _life_seconds(every: float) -> float:
    return every + min(every, MAX_LATE_SECONDS) + GRACE_SECONDS


def _key(loaded: LoadedPolicy) -> tuple[str, str]:
    return (loaded.policy.metadata.namespace, loaded.policy.spec.publish.metric.lower())


def _no_signal(metric: str, missing: Missing, t: float | None) -> Reply:
    return no_signal(metric, missing.reason, str(missing)).reply(t)


def _render(entry: Entry, metric: str, groups: Sequence[GroupSignal]) -> Reply:
    """The list of the groups' items, or the error that stands for all: a shorter list would scale down."""
    if not groups:
        if entry.loaded.policy.spec.by and not entry.groups.all:
            return _no_signal(metric, NO_GROUP, entry.t)
        return unknown_metric(metric).reply(entry.t)
    if len(groups) > 1 and not entry.loaded.policy.spec.publish.sum:
        labels = ", ".join(entry.loaded.policy.spec.by)
        message = (
            f'the selector matches {len(groups)} groups of "{metric}", which would be added up:'
            f" select one by {labels}, or set publish.sum: true in the policy"
        )
        return bad_request(message).reply(entry.t)
    signals = []
    for group in groups:
        if isinstance(group.outcome, NoSignal):
            return _no_signal(metric, group.outcome.missing, entry.t)
        signals.append((group, group.outcome))
    if sum(signal.value_milli for _, signal in signals) > MAX_VALUE * 1000:
        return _no_signal(metric, Missing(Reason.TOO_LARGE, f"the items add up to more than {MAX_VALUE}"), entry.t)
    items = [MetricValue(metric, group.labels, signal.as_of, signal.text) for group, signal in signals]
    return Reply(200, render_value_list(items), entry.t)
