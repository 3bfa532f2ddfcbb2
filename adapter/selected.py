"""Replies to selectors, kept until the tick that they were rendered from is over, within so many bytes in all.

Every HorizontalPodAutoscaler asks with the same selector at each sync, so reading the selector, finding the groups and
rendering them is done once a tick and not once a request. What is kept is bounded, since the selector is the caller's.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from adapter.core.external_metrics import Reply
from adapter.core.label_selectors import LabelSelector, Operator, parse_label_selector
from adapter.core.signals import GroupSignal

MAX_KEPT_BYTES = 8 * 2**20
MAX_KEPT_SELECTOR = 1024
ENTRY_BYTES = 600
"""About what an entry costs beside its text and body."""

_kept_selector = lru_cache(maxsize=1024)(parse_label_selector)


def read_selector(text: str) -> LabelSelector:
    """The selector, read once for all ticks if it is of a usual length; SelectorError if it is none."""
    return _kept_selector(text) if len(text) <= MAX_KEPT_SELECTOR else parse_label_selector(text)


class Groups:
    """The groups of one tick, found by the value of a label rather than one after the other."""

    def __init__(self, groups: Sequence[GroupSignal]) -> None:
        self.all = tuple(groups)
        self._by_label: Mapping[tuple[str, str], Sequence[GroupSignal]] | None = None

    def selected(self, selector: LabelSelector | None) -> Sequence[GroupSignal]:
        """The groups that the selector matches, in their order."""
        if selector is None:
            return self.all
        return [group for group in self._candidates(selector) if selector.matches(group.labels)]

    def _candidates(self, selector: LabelSelector) -> Iterable[GroupSignal]:
        """Every group that can match: of a thousand, `model=a` has to look at one."""
        for requirement in selector.requirements:
            if requirement.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS):
                if self._by_label is None:
                    self._by_label = self._index()
                return self._by_label.get((requirement.key, requirement.values[0]), ())
        return self.all

    def _index(self) -> Mapping[tuple[str, str], Sequence[GroupSignal]]:
        index: dict[tuple[str, str], list[GroupSignal]] = {}
        for group in self.all:
            for label in group.labels.items():
                index.setdefault(label, []).append(group)
        return index


class SelectedReplies:
    """The least recently used go first. An entry belongs to the groups it came from and is none for any others."""

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._replies: OrderedDict[tuple[str, str, str], tuple[Groups, Reply]] = OrderedDict()

    def get(self, key: tuple[str, str, str], groups: Groups) -> Reply | None:
        """The reply kept for namespace, metric and selector, if it is of these groups."""
        kept = self._replies.get(key)
        if kept is None or kept[0] is not groups:
            return None
        self._replies.move_to_end(key)
        return kept[1]

    def keep(self, key: tuple[str, str, str], groups: Groups, reply: Reply) -> None:
        """Keep a reply, and forget what is too much."""
        if len(key[2]) > MAX_KEPT_SELECTOR:
            return
        before = self._replies.pop(key, None)
        if before is not None:
            self._bytes -= _size(key, before[1])
        self._replies[key] = (groups, reply)
        self._bytes += _size(key, reply)
        while self._bytes > self._max_bytes:
            old, (_, dropped) = self._replies.popitem(last=False)
            self._bytes -= _size(old, dropped)

    @property
    def kept_bytes(self) -> int:
        """About how much is kept."""
        return self._bytes


def _size(key: tuple[str, str, str], reply: Reply) -> int:
    return ENTRY_BYTES + sum(map(len, key)) + len(reply.body)
