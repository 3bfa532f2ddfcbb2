"""Deadlines of blocking HTTP requests: one end for a whole query, that wakes the thread which waits on its socket.

A time-out of an HTTP library is per read, so a server that drips bytes holds it for ever, and a thread cannot be
cancelled. Here the connections of a session register their sockets with the deadline of the query that uses them, and
its end shuts them. Knows HTTP connections, nothing of Prometheus.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from adapter.clock import monotonic


class Deadline:
    """The end of one query's time, and the sockets to shut when it comes; safe between threads."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = monotonic() + seconds
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._copies: list[socket.socket] = []
        self.is_over = False

    @property
    def rest(self) -> float:
        """Seconds left, never below 0."""
        return 0.0 if self.is_over else max(0.0, self._end - monotonic())

    def watch(self, sock: socket.socket) -> None:
        """Have the socket shut at the end, which wakes a thread that waits on it."""
        with self._lock:
            self._sockets.append(sock)
            if self.is_over:
                _shut(sock)

    def watch_copy(self, sock: socket.socket) -> None:
        """Watch a socket that is about to pass into TLS: it is detached then, but a copy of it still shuts it."""
        copy = sock.dup()
        with self._lock:
            self._copies.append(copy)
        self.watch(copy)

    def let_go(self) -> None:
        """Forget the sockets: their connections are the pool's again, and may carry another query by now."""
        with self._lock:
            self._sockets.clear()
            for copy in self._copies:
                copy.close()
            self._copies.clear()

    def end(self) -> None:
        """Shut what is still open; called by whoever waits, when the time is over."""
        with self._lock:
            self.is_over = True
            for sock in self._sockets:
                _shut(sock)


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


_current = threading.local()


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """Ask under a deadline: the sockets this thread uses meanwhile are shut when it ends."""
    _current.deadline = deadline
    try:
        yield
    finally:
        _current.deadline = None
        deadline.let_go()


def current_deadline() -> Deadline | None:
    """The deadline of the query that this thread asks."""
    found: Deadline | None = getattr(_current, "deadline", None)
    return found


class _Watched(HTTPConnection):
    """A connection that registers its socket with the deadline of the query that uses it."""

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._register()
        super().request(*args, **kwargs)

    def connect(self) -> None:
        super().connect()
        self._register()

    def _register(self) -> None:
        deadline = current_deadline()
        if deadline is not None and self.sock is not None:
            deadline.watch(self.sock)


class _WatchedSecure(_Watched, HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        deadline = current_deadline()
        if deadline is not None:
            deadline.watch_copy(sock)  # a server may drip its handshake as well
        return sock


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _WatchedSecure


class DeadlineAdapter(HTTPAdapter):
    """Connections whose sockets a deadline can shut."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        manager: PoolManager = self.poolmanager
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
