"""An endpoint that says the key back wherever it can: the key stands in no file, no stream, no log and no exception."""

import json
import logging
import sys
import threading
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from endpoint_runs import BARE, SteadyServer, config_of, faults_of, hurried_model, play
from rich.console import Console

from kernelwright.engine.suppliers import Suppliers

KEY = "sk-drill/0123456789+abcdef=="
QUOTED = "sk-drill%2F0123456789%2Babcdef%3D%3D"
STATUSES = (400, 401, 403, 404, 429, 500)
FINAL = (400, 401, 403, 404)
SEED = 9


class Echo(BaseHTTPRequestHandler):
    """Says the key back in an error, or in every string of an answer."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        said, server = self.headers["authorization"], self.server
        server.keys.add(said)
        status = server.statuses.pop(0) if server.statuses else 200
        if status != 200:
            code = {"message": f"what is {said}?", "code": said, "type": said, "param": said}
            self._say(status, json.dumps({"error": code}).encode(), said)
        else:
            body = json.loads(server.drill.reply(raw).body)
            self._say(200, json.dumps(server.told(body, said)).encode(), said)

    def _say(self, status, body, said):
        self.send_response(status, f"because of {said}")
        for name in ("x-request-id", "www-authenticate", "openai-organization"):
            self.send_header(name, said)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def honest(body, said):
    return body


def boastful(body, said):
    """The key in every string of an answer that a client may keep."""
    message = body["choices"][0]["message"]
    message["content"] = f"{message['content'] or ''}\n{said}\n{QUOTED}"
    for call in message.get("tool_calls", ()):
        call["id"] += said
        call["function"]["name"] += said
        call["function"]["arguments"] += said
    return body | {"model": said, "id": said, "system_fingerprint": said}


@contextmanager
def echoing(statuses, told=honest):
    with SteadyServer(SEED, faults_of()) as drill:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        server.drill, server.statuses, server.told, server.keys = drill, list(statuses), told, set()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def address(server):
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


@pytest.fixture
def leaks(monkeypatch, caplog, capfd, tmp_path):
    """Where the key is found, after everything that people get to see was shown."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)

    def found(result):
        Console().print(result.shown)
        if result.error is not None:
            trace = traceback.TracebackException.from_exception(result.error, capture_locals=True)
            Console(markup=False).print("".join(trace.format()), result.error, soft_wrap=True)
        texts = {str(f): f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
        streams = capfd.readouterr()
        texts |= {"stdout": streams.out.encode(), "stderr": streams.err.encode(), "log": caplog.text.encode()}
        assert any(name.endswith("run.sqlite") for name in texts)
        assert any(name.endswith("report.html") for name in texts)
        return [name for name, text in texts.items() if KEY.encode() in text or QUOTED.encode() in text]

    return found


SHOWN = Suppliers(model=hurried_model, cache=BARE.cache)
"""As for people: the report, the summary, the drop-in kernel and its receipt."""


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("name", ["cudaforge", "agent"])
def test_a_key_that_an_error_says_back_is_nowhere(leaks, tmp_path, name, status):
    with echoing([status, status]) as server:
        result = play(tmp_path / "run", config_of(name, address(server), retries=3), SHOWN)
    assert server.keys == {f"Bearer {KEY}"}
    assert leaks(result) == []
    assert (result.exit_code == 10) == (status in FINAL)
    if status in FINAL:
        assert status in (401, 403) or "[key]" in str(result.error)
        assert not result.summary.complete


@pytest.mark.parametrize("name", ["cudaforge", "fsr", "agent"])
def test_a_key_that_an_answer_says_back_is_nowhere(leaks, tmp_path, name):
    with echoing([], boastful) as server:
        result = play(tmp_path / "run", config_of(name, address(server)), SHOWN)
    assert server.keys == {f"Bearer {KEY}"}
    assert leaks(result) == []
    assert result.summary.complete


def test_the_search_for_the_key_finds_it(leaks, tmp_path):
    with echoing([]) as server:
        result = play(tmp_path / "run", config_of("direct", address(server)), SHOWN)
    (tmp_path / "run" / "note.txt").write_text(f"{QUOTED}")
    sys.stdout.write(KEY)
    assert leaks(result) == [str(tmp_path / "run" / "note.txt"), "stdout"]
