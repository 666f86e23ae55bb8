"""Faults of transport: how an answer fails to arrive.

Decides the bytes of each fault. Refuses to know prompts.
"""

import json
from dataclasses import dataclass, field, replace

from kernelwright.testing.drill.faults import Transport
from kernelwright.testing.drill.wire import Body, error

JSON, HTML = "application/json", "text/html; charset=utf-8"
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"

WITH_USAGE: tuple[Transport, ...] = ("null_content",)
"""Faults whose answer still tells its tokens. `wrong_type` has them too, for whoever reads its body all the same."""

LIMITED = error("Rate limit reached, in a drill", "requests", "rate_limit_exceeded")
DOWN = error("The server had an error, in a drill", "server_error")
ERRORS: dict[Transport, tuple[Body, int]] = {
    "429": (LIMITED, 429),
    "429_silent": (LIMITED, 429),
    "500": (DOWN, 500),
    "503": (DOWN, 503),
    "stall": (DOWN, 503),
    "400": (
        error("Unsupported parameter: 'temperature'", "invalid_request_error", "unsupported_parameter", "temperature"),
        400,
    ),
    "404": (error("The model does not exist", "invalid_request_error", "model_not_found"), 404),
}
"""Faults that are an error's body with its status."""


@dataclass(frozen=True)
class Sent:
    """What goes over the wire."""

    status: int
    body: bytes
    kind: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    """Bytes of the body after which the connection ends; None: it is whole; 0: not even the status is sent."""
    reset: bool = False
    """The connection is reset where it ends, and not closed."""


def whole(body: Body, status: int = 200) -> Sent:
    """An answer without a fault."""
    return Sent(status, json.dumps(body).encode())


def spoiled(fault: Transport, answer: Body, retry_after_s: float) -> Sent:
    """The answer with a fault of transport. A stall is served as an error, for whoever waits long enough."""
    if fault in ERRORS:
        headers = {"Retry-After": f"{retry_after_s:g}"} if fault == "429" else {}
        return replace(whole(*ERRORS[fault]), headers=headers)
    body = json.dumps(answer).encode()
    if fault == "html":
        return Sent(200, PAGE, HTML)
    if fault == "wrong_type":
        return Sent(200, body, "text/plain")
    if fault == "no_usage":
        return whole({k: v for k, v in answer.items() if k != "usage"})
    if fault == "null_content":
        return whole(_silent(answer))
    return Sent(200, body, cut=0 if fault == "reset" else len(body) // 2, reset=fault != "truncated_body")


def _silent(answer: Body) -> Body:
    """The answer with no content and no calls."""
    message: Body = {"role": "assistant", "content": None}
    return answer | {"choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]}
