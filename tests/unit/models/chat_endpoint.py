"""A chat server on loopback that answers as it is told."""

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kernelwright.models.fault import RetryPolicy


@dataclass
class Said:
    """One scripted answer."""

    body: object = None
    status: int = 200
    headers: dict = field(default_factory=dict)
    kind: str = "application/json"
    wait_s: float = 0.0
    raw: bytes | None = None
    hang_up: bool = False
    pieces: tuple = ()
    pause_s: float = 0.0
    """After each piece."""


@dataclass
class Heard:
    path: str
    headers: dict
    body: dict


class Script:
    """Answers in order; the last again and again. A callable is asked what to say to what was heard."""

    def __init__(self):
        self.answers, self.heard, self.busy, self.most_busy = [], [], 0, 0
        self.lock, self.over = threading.Lock(), threading.Event()

    def say(self, *answers):
        self.answers = list(answers)

    def next(self, heard):
        with self.lock:
            self.heard.append(heard)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(heard) if callable(answer) else answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        script = self.server.script
        body = self.rfile.read(int(self.headers["content-length"]))
        with script.lock:
            script.busy += 1
            script.most_busy = max(script.most_busy, script.busy)
        said = script.next(Heard(self.path, dict(self.headers.items()), json.loads(body)))
        script.over.wait(said.wait_s)
        with script.lock:
            script.busy -= 1
        if said.hang_up:
            self.close_connection = True
            return
        data = said.raw if said.raw is not None else json.dumps(said.body).encode()
        pieces = said.pieces or (data,)
        data = b"".join(pieces)
        try:
            self.send_response(said.status)
            for name, value in {"content-type": said.kind, "content-length": str(len(data)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                script.over.wait(said.pause_s)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that went away is what some tests are about."""


def serve():
    server = Server(("127.0.0.1", 0), Handler)
    server.script = Script()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    return server


def stop(server):
    server.script.over.set()
    server.shutdown()
    server.server_close()


class Waits:
    """Counts the waits and does not wait."""

    def __init__(self):
        self.seconds = []

    async def __call__(self, seconds):
        self.seconds.append(seconds)

    @property
    def retries(self):
        return RetryPolicy(sleep=self, draw=lambda: 0.5)


def completion(text="hello", finish="stop", **fields):
    """A body of OpenAI's format; `message` and `usage` replace theirs."""
    message = {"role": "assistant", "content": text, **fields.pop("message", {})}
    usage = fields.pop("usage", {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10})
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "m-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **fields,
    }
    return Said({**body, "usage": usage} if usage else body)


def stream(*events, done=True, **fields):
    """Events of a stream, JSON or bytes as they are."""
    pieces = [event if isinstance(event, bytes) else f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Said(pieces=(*pieces, b"data: [DONE]\n\n" if done else b""), kind="text/event-stream", **fields)


def chunk(finish=None, usage=None, **delta):
    """A chunk of a chat completion."""
    body = {"model": "m-2026", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return {**body, "usage": usage} if usage else body


def complaint(status, message, **fields):
    headers = fields.pop("headers", {})
    return Said({"error": {"message": message, "type": "invalid_request_error", **fields}}, status, headers)


def replies(model, *requests, together=False):
    """What a model answers, one request after another or all at once; it is closed then."""

    async def run():
        try:
            if together:
                return await asyncio.gather(*(model.reply(request) for request in requests))
            return [await model.reply(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(run())
