"""Group names: the label values under which groups are served, one for each, whatever the groups are called.

A label value of Kubernetes has at most 63 characters of letters, digits, - _ and ., and begins and ends with a letter
or digit; a model's name has slashes. So a value that no selector can carry has an alias, and where two values would
share one, all but the one that may keep it get a mark of their own value, so that a selector never finds another
group's signal in place of its own.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

from adapter.core.label_syntax import MAX_NAME_BYTES

MARK_CHARACTERS = 8


@lru_cache(maxsize=16384)
def alias(value: str) -> str:
    """A label value as Kubernetes can carry it; the value itself where it can. A slash becomes two underscores."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_.") else "__" for one in value)
    return plain[:MAX_NAME_BYTES].strip("-_.") or "none"


def marked(value: str) -> str:
    """The alias with eight hexadecimal digits of the value's SHA-256, a function of the value alone."""
    mark = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_CHARACTERS]
    return f"{alias(value)[: MAX_NAME_BYTES - MARK_CHARACTERS - 1].rstrip('-_.')}-{mark}"


def names_of(values: Iterable[str], declared: Collection[str] = ()) -> Mapping[str, str]:
    """The name of each value, no two alike.

    Of several with one alias it is kept by the one that is declared, so that what comes later never takes it; else by
    the one that is spelt so; else by none.
    """
    sharing: dict[str, list[str]] = defaultdict(list)
    for value in sorted(set(values) | set(declared)):
        sharing[alias(value)].append(value)
    found: dict[str, str] = {}
    for shared, same in sharing.items():
        keeper = same[0] if len(same) == 1 else _keeper(shared, same, declared)
        found.update({value: shared if value == keeper else marked(value) for value in same})
    return found


def _keeper(shared: str, same: list[str], declared: Collection[str]) -> str | None:
    known = [value for value in same if value in declared]
    if known:
        return shared if shared in known else known[0]
    return shared if shared in same else None


def shared_names(declared: Collection[str]) -> list[tuple[str, str, str]]:
    """Of values that are declared each that shares its alias with one before it: (first, second, alias)."""
    firsts: dict[str, str] = {}
    found = []
    for value in declared:
        first = firsts.setdefault(alias(value), value)
        if first != value:
            found.append((first, value, alias(value)))
    return found
