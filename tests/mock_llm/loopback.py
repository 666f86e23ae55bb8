"""HTTP on loopback: bodies in, bytes out, and connections that end as a fault wants them to."""

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mock_llm import wire
from mock_llm.streams import delivered
from mock_llm.wire import Sent, whole

LARGEST = 64 << 20
"""Bytes of a request that is read."""
IDLE_S = 60.0
"""Seconds after which a silent connection is closed."""
Reply = Callable[[bytes], Sent]


class Loopback(ThreadingHTTPServer):
    """Threads that are waited for, and connections that can be hung up."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, port: int, reply: Reply, closing: threading.Event) -> None:
        """Takes the port, 0 for a free one, what answers a body, and what ends every silence."""
        self.reply, self.closing = reply, closing
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def opened(self, connection: socket.socket) -> None:
        """A client has come."""
        with self._lock:
            self._open.add(connection)

    def ended(self, connection: socket.socket) -> None:
        """A client has gone."""
        with self._lock:
            self._open.discard(connection)

    def hang_up(self) -> None:
        """End every connection."""
        with self._lock:
            for connection in self._open:
                _shut(connection)

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """A client that has gone is no news; anything else is a fault of the server and is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "drill", ""
    timeout = IDLE_S
    disable_nagle_algorithm = True
    server: Loopback

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.ended(self.connection)
        try:
            super().finish()
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        """The list of models."""
        known = self.path.split("?")[0] == "/v1/models"
        self._send(whole(wire.models()) if known else _missing(self.path))

    def do_POST(self) -> None:
        """A chat completion, or a response."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST:
            self.close_connection = True
            told = f"the body must have a length of at most {LARGEST} bytes"
            self._send(whole(wire.error(told, "invalid_request_error"), 413))
            return
        raw = self.rfile.read(int(length))
        path = self.path.split("?")[0]
        known = path in ("/v1/chat/completions", "/v1/responses")
        self._send(delivered(raw, path == "/v1/responses", self.server.reply) if known else _missing(self.path))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        """Nothing is written anywhere."""

    def _write(self, sent: Sent) -> None:
        """The body as far as it goes."""
        if sent.cut is not None or not sent.pieces:
            self.wfile.write(sent.body if sent.cut is None else sent.body[: sent.cut])
            self.wfile.flush()
            return
        for piece in sent.pieces[: sent.stop]:
            self.wfile.write(piece)
            self.wfile.flush()
            self.server.closing.wait(sent.pause_s)
        if sent.stop is not None:
            self.server.closing.wait(sent.silent_s)
            self.close_connection = True

    def _send(self, sent: Sent) -> None:
        if sent.cut != 0:
            self.send_response(sent.status)
            self.send_header("Content-Type", sent.kind)
            self.send_header("Content-Length", str(len(sent.body)))
            for name, value in sent.headers.items():
                self.send_header(name, value)
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self._write(sent)
        if sent.cut is not None:
            self.close_connection = True
            if sent.reset:
                # Nothing lingers: closing now sends a reset instead of an end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()


def _missing(path: str) -> Sent:
    return whole(wire.error(f"there is nothing at {json.dumps(path[:200])}", "invalid_request_error", "not_found"), 404)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
