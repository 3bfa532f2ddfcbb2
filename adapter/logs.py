"""How the shell's log lines look: one line an event, as logfmt or JSON, UTC, on standard error.

A line tells a change of state. What says the same again within a minute is left out and counted in the next that says
it; errors are left out only where a fault of ours repeats itself with its traceback. What libraries log goes the same
way.
"""

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any, Literal

import structlog

from adapter import clock

REPEAT_SECONDS = 60.0
MAX_REMEMBERED = 10_000
_VARIES = ("t", "value", "message", "decided_by", "exc_info", "seconds", "n", "ready")
"""Fields that differ between two lines that say the same; those of inputs too."""

Event = MutableMapping[str, Any]

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Repeats:
    """Leaves out what was said within the minute."""

    def __init__(self, on_suppressed: Callable[[], None], now: Callable[[], float] = clock.monotonic) -> None:
        self._on_suppressed, self._now = on_suppressed, now
        self._said: OrderedDict[tuple[object, ...], tuple[float, int]] = OrderedDict()

    def __call__(self, _logger: object, method: str, event: Event) -> Event:
        """A processor of structlog."""
        if method == "debug" or (method == "error" and "exc_info" not in event):
            return event
        key = (method, *((k, str(v)) for k, v in event.items() if k not in _VARIES and not k.startswith("input_")))
        said_at, suppressed = self._said.pop(key, (None, 0))
        now = self._now()
        if said_at is not None and now - said_at < REPEAT_SECONDS:
            self._said[key] = (said_at, suppressed + 1)
            self._on_suppressed()
            raise structlog.DropEvent
        self._said[key] = (now, 0)
        if len(self._said) > MAX_REMEMBERED:
            self._said.popitem(last=False)
        if suppressed:
            event["suppressed"] = suppressed
        return event


def configure_logs(
    level: str = "info",
    form: Literal["logfmt", "json"] = "logfmt",
    on_suppressed: Callable[[], None] = lambda: None,
) -> None:
    """Set up structlog, and the libraries' logging, for the process."""
    renderer: Callable[[object, str, Event], str | bytes] = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if form == "json"
        else structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False)
    )
    structlog.configure(
        processors=[
            Repeats(on_suppressed),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_controls,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,  # lines are rare, and tests set it up anew
    )
    logging.basicConfig(handlers=[_FromLibraries()], level=logging.WARNING, force=True)


def _without_controls(_logger: object, _method: str, event: Event) -> Event:
    """Label values come from whoever writes metrics: none may forge a line or move a terminal's cursor."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable() and key != "exception":
            event[key] = "".join(one if one.isprintable() else repr(one)[1:-1] for one in value)
    return event


class _FromLibraries(logging.Handler):
    """Passes on what libraries log, as an event of theirs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record; `exc_info` is that of whoever logged it."""
        log = structlog.get_logger("libraries")
        level = "error" if record.levelno >= logging.ERROR else "warning"
        details = {"exc_info": record.exc_info} if record.exc_info else {}
        getattr(log, level)("library", logger=record.name, reason=record.getMessage(), **details)
