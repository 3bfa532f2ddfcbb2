"""Tempo: a policy rewritten for a trace that is played faster than it was recorded.

At speed s a second of wall time holds s seconds of the trace. Rates are multiplied by s and durations divided by s, so
the demand in replicas is the same: 22 per second ÷ (0.8 × 4.4) = 6.25 = 220 ÷ (0.8 × 44). The adapter looks every
second, so that there is something to see: how often it looks changes no demand. What the scrape cannot go below is kept
there: windows of four scrapes, ages of five seconds. N is the largest of the last 60 s of wall time at any speed.
"""

import re
from copy import deepcopy
from typing import Any

import yaml

from adapter.core.policy import KIND
from adapter.core.units import parse_duration, parse_rate
from sim.demo.player import SCRAPE_SECONDS

EVERY_SECONDS = 1.0
MIN_WINDOW_SECONDS = 4 * SCRAPE_SECONDS
MIN_AGE_SECONDS = 5.0
MIN_MEMORY_SECONDS = 30.0
PRESET_WINDOW_SECONDS = 60.0
_RATE_PRESET = re.compile(r"^vllm/request-(arrivals|completions)$")


class TempoError(ValueError):
    """A text that is no policy."""


def at_tempo(text: str, speed: float) -> str:
    """The policies of a YAML text for a trace played at this speed; what says that it is something else is left out.

    An HPA may lie beside its policy, as it may where policies are read; a text without policies gives an empty one.
    """
    try:
        documents = [one for one in yaml.safe_load_all(text) if one is not None and not _is_foreign(one)]
        if not documents:
            return ""
        return yaml.safe_dump_all([_policy(one, speed) for one in documents], sort_keys=False)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise TempoError(f"this is no policy: {error}; `scaleproof check` tells more") from error


def _is_foreign(document: object) -> bool:
    return isinstance(document, dict) and document.get("kind", KIND) != KIND


def _policy(document: dict[str, Any], speed: float) -> dict[str, Any]:
    changed = deepcopy(document)
    spec = changed["spec"]
    spec["every"] = _duration(EVERY_SECONDS)
    spec["memory"] = _shorter(spec.get("memory", "10m"), speed, MIN_MEMORY_SECONDS)
    spec["scrape_interval"] = _duration(SCRAPE_SECONDS)
    spec.pop("offset", None)
    for one in spec["inputs"].values():
        one["max_age"] = _shorter(one.get("max_age", "60s"), speed, MIN_AGE_SECONDS)
        if "window" in one or _RATE_PRESET.match(one.get("preset", "")):
            one["window"] = _shorter(one.get("window", f"{PRESET_WINDOW_SECONDS:g}s"), speed, MIN_WINDOW_SECONDS)
        if isinstance(one.get("missing"), dict) and "hold" in one["missing"]:
            one["missing"]["hold"] = _shorter(one["missing"]["hold"], speed, MIN_AGE_SECONDS)
    if isinstance(spec.get("replicas"), dict):
        spec["replicas"]["max_age"] = _shorter(spec["replicas"].get("max_age", "60s"), speed, MIN_AGE_SECONDS)
    for part in (spec.get("capacity"), *spec["terms"].values()):
        _part(part, speed)
    return changed


def _part(part: Any, speed: float) -> None:
    """A capacity or a term, and what stands inside of it."""
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        if key == "rate_per_replica":
            part[key] = f"{parse_rate(value) * speed:g}/s"
        elif key in ("drain", "cold_start"):
            part[key] = _shorter(value, speed, 0.001)
        else:
            _part(value, speed)


def _shorter(value: object, speed: float, least: float) -> str:
    return _duration(max(least, parse_duration(value) / speed))


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
