"""A way to Prometheus on which every question arrives late: what a busier or more distant adapter would be answered."""

import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


class LatePrometheus:
    """Passes GETs on after a delay, each in a thread, so that questions do not wait for each other."""

    def __init__(self, url: str, delay_seconds: float) -> None:
        session = requests.Session()
        session.trust_env = False  # no proxy of the machine between a test and 127.0.0.1
        self._session = session

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(delay_seconds)
                with suppress(requests.RequestException, ConnectionError):  # either side may have gone meanwhile
                    self.answer(session.get(f"{url}{self.path}", timeout=10))

            def answer(self, answer: requests.Response) -> None:
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._session.close()
