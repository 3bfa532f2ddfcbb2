"""A request on a TLS session that was saved from an earlier connection, which neither asyncio nor requests can make."""

import socket
import ssl


def get_on_saved_session(
    port: int, context: ssl.SSLContext, request: bytes, session: ssl.SSLSession | None
) -> tuple[bytes, ssl.SSLSession | None, bool]:
    """The status on a connection that offers a saved session, the next session, and whether it was resumed.

    The status is empty if TLS refuses.
    """
    try:
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
            connection.sendall(request)
            answer = connection.recv(65536)
            return answer[9:12], connection.session, bool(connection.session_reused)
    except (ssl.SSLError, ConnectionError):
        return b"", None, False
