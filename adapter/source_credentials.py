"""Credentials of a source: read from files, read again when they change, and never shown.

The value of a secret leaves this module in one way only, on a request that goes to the source; what a server says back
is cleaned of it, since a server may repeat what it was sent. Redirects are refused by the source, so that no other
server is ever sent one.
"""

import threading
from base64 import b64encode
from pathlib import Path

from requests import PreparedRequest
from requests.auth import AuthBase

from adapter.source_settings import SourceSettings, for_namespace

MAX_SECRET_BYTES = 64 * 1024
SHORTEST_HIDDEN = 4
"""A secret of fewer characters is not looked for in texts: it would hide letters of every word."""


class SecretError(Exception):
    """A secret cannot be had; the message names the file, never what is in it."""


class SecretFile:
    """The secret in a file, as it is now; safe between threads."""

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._what = path, what
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._secret = ""
        self._before = ""

    def __repr__(self) -> str:
        return f"SecretFile({str(self._path)!r})"

    def read(self) -> str:
        """The secret; a file that changed is read again, e.g. when a mounted Secret is swapped."""
        with self._lock:
            try:
                state = self._path.stat()
                stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
                if stamp != self._stamp:
                    self._keep(self._path.read_bytes() if state.st_size <= MAX_SECRET_BYTES else b"")
                    self._stamp = stamp
            except OSError as error:
                words = error.strerror or "it cannot be read"
                raise SecretError(f"the {self._what} in {self._path} cannot be read: {words}") from None
            return self._secret

    def _keep(self, data: bytes) -> None:
        secret = data.decode("ascii", "replace").strip()
        if not secret or not secret.isprintable() or not secret.isascii():
            raise SecretError(f"{self._path} holds no {self._what}: one line of printable ASCII is wanted")
        if secret != self._secret:
            self._before, self._secret = self._secret, secret

    @property
    def known(self) -> tuple[str, ...]:
        """What may be repeated by a server: the secret that was read last, and the one before it."""
        return tuple(one for one in (self._secret, self._before) if len(one) >= SHORTEST_HIDDEN)


class Credentials(AuthBase):
    """Puts on each request who asks, and for which namespace."""

    def __init__(self, settings: SourceSettings, user: str | None = None, password: str | None = None) -> None:
        self._headers = settings.headers
        self._token = SecretFile(settings.bearer_token_file, "bearer token") if settings.bearer_token_file else None
        basic = settings.basic_auth
        self._password = SecretFile(basic.password_file, "password") if basic else None
        self._user = basic.username if basic else user
        self._password_of_url = password or ""
        self._namespace = threading.local()

    def __repr__(self) -> str:
        return "Credentials(…)"

    def ask_for(self, namespace: str) -> None:
        """Requests of this thread are for a policy of the namespace from now on."""
        self._namespace.name = namespace

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers.update(for_namespace(self._headers, getattr(self._namespace, "name", "")))
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token.read()}"
        elif self._user is not None:
            password = self._password.read() if self._password is not None else self._password_of_url
            request.headers["Authorization"] = f"Basic {_encoded(self._user, password)}"
        return request

    def cleaned(self, text: str) -> str:
        """The text without any secret that it repeats."""
        found = [*(self._token.known if self._token else ()), *(self._password.known if self._password else ())]
        if len(self._password_of_url) >= SHORTEST_HIDDEN:
            found.append(self._password_of_url)
        encoded = [_encoded(self._user, one) for one in found] if self._user is not None else []
        for secret in (*encoded, *found):
            text = text.replace(secret, "***")
        return text


def _encoded(user: str, password: str) -> str:
    return b64encode(f"{user}:{password}".encode()).decode()
