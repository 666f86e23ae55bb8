"""Fault: what went wrong with one try, as plain data: whether to retry, whether it is an answer after all, what to say.

It does not keep the SDK's exception, which holds the request and with it the key.
"""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

from pydantic import JsonValue

from kernelwright.models.wire import parsed

FIRST_S = 0.5
MOST_DOUBLINGS = 16
"""More are no float in the end, and `LONGEST_S` long before."""
LONGEST_S = 60.0
LONGEST_ASKED_S = 120.0
"""An endpoint may ask for hours; a run asks again sooner, and gives up by its own count."""


@dataclass(frozen=True)
class RetryPolicy:
    """Waits. Sleep and draw can be replaced, by tests and by whoever wants the same waits again."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = field(default_factory=lambda: random.Random().random)
    """Uniform in [0, 1)."""

    def delay_s(self, failures: int, asked_s: float | None) -> float:
        """The wait after that many failures, the first being 1."""
        draw = self.draw()
        own_s = min(FIRST_S * 2.0 ** min(failures - 1, MOST_DOUBLINGS), LONGEST_S) * (0.5 + 0.5 * draw)
        return max(own_s, min(asked_s or 0.0, LONGEST_ASKED_S) * (1 + 0.1 * draw))


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds that the endpoint asks to wait; None when it does not say, or says nonsense."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now())
    except (KeyError, ValueError, OverflowError):
        return None


MOST_WORDS = 400
"""Characters of an endpoint's own words in a message."""
_AGAIN = {408, 409, 425, 429}


class Complaint(NamedTuple):
    """What an endpoint says of a request that it refused."""

    words: str = ""
    parameter: str = ""
    """As it names it: `temperature`, `tools[0].function`."""
    code: str = ""
    """What kind it is of, in its own words; more than one where it names more."""


class Fault(NamedTuple):
    """Why a try gave no answer."""

    kind: Literal["connection", "timeout", "status", "garbled", "cut", "stalled"]
    """`cut` and `stalled`: of a stream that had begun."""
    status: int = 0
    """HTTP; 0 when there was none."""
    complaint: Complaint = Complaint()
    retry_after_s: float | None = None
    """What the endpoint asks for."""
    elsewhere: str = ""
    """Where it redirects to."""
    characters: int = 0
    """Length of an answer that came and could not be read: it was probably paid for."""


_KINDS = {
    "insufficient_quota": 429,
    "content_": 400,
    "context_length": 400,
    "invalid_api_key": 401,
    "authentication": 401,
    "invalid_request": 400,
    "unsupported": 400,
}
"""What an error under status 200 would have had for a status, by the name of its kind, where it has no number."""


def refused(status: int, headers: Mapping[str, str], text: str) -> Fault:
    """The fault of an HTTP status that is no success."""
    return Fault(
        "status",
        status,
        complaint_of(text),
        retry_after_s=retry_after(headers),
        elsewhere=headers.get("location", "") if 300 <= status < 400 else "",
    )


def complaint_of(text: str) -> Complaint:
    """An error body as endpoints write it: OpenAI's, Anthropic's, FastAPI's, or plain text."""
    body = parsed(text)
    return complaint_in(body) if isinstance(body, dict) else Complaint(_plain(text))


def complaint_in(body: dict[str, JsonValue]) -> Complaint:
    """An error body's complaint."""
    error = body.get("error", body)
    if not isinstance(error, dict):
        return Complaint(str(error), code=str(body.get("code") or ""))
    details = error.get("detail")
    if isinstance(details, list):
        return _of_details(details)
    words = error.get("message") or details or error.get("error") or ""
    code = " ".join(str(error[name]) for name in ("code", "type") if error.get(name))
    return Complaint(str(words), str(error.get("param") or ""), code)


def late(body: dict[str, JsonValue]) -> Fault:
    """An error under status 200, as relays send it when what they relay has failed."""
    complaint = complaint_in(body)
    numbers = (int(word) for word in complaint.code.split() if re.fullmatch("[45][0-9][0-9]", word))
    named = next((status for kind, status in _KINDS.items() if kind in complaint.code), 502)
    return Fault("status", next(numbers, named), complaint)


def _of_details(details: list[JsonValue]) -> Complaint:
    first = next((detail for detail in details if isinstance(detail, dict)), {})
    place = first.get("loc")
    names = [str(part) for part in place if part != "body"] if isinstance(place, list) else []
    return Complaint(
        f"{'.'.join(names)}: {first.get('msg', '')}", names[0] if names else "", str(first.get("type", ""))
    )


def _plain(text: str) -> str:
    return "" if text.lstrip().startswith("<") else text.strip()


def worth_retrying(fault: Fault) -> bool:
    """Whether the same request may well succeed later."""
    if fault.kind != "status":
        return True
    if fault.status == 429:
        return "insufficient_quota" not in fault.complaint.code
    return fault.status in _AGAIN or fault.status >= 500


def is_refusal(fault: Fault) -> bool:
    """Whether a filter refused to have the request answered: an answer of its kind, not a fault of the request."""
    code = fault.complaint.code.lower()
    return fault.status == 400 and ("content_filter" in code or "content_policy" in code)


def is_too_long(fault: Fault) -> bool:
    """Whether the prompt leaves no room for a reply."""
    words = fault.complaint.words.lower()
    named = "context_length" in fault.complaint.code or "context length" in words or "prompt is too long" in words
    return fault.status == 413 or (fault.status in {400, 422} and named)


def explain(fault: Fault, variable: str) -> str:
    """What happened and how to fix it, without any secret."""
    words = fault.complaint.words[:MOST_WORDS].rstrip(". ")
    said = f" It says: {words}." if words else ""
    match fault:
        case Fault(kind="connection"):
            return f"cannot be reached.{said} Is it running, and is the base URL right?"
        case Fault(kind="timeout"):
            return "did not answer in time: give it longer with timeout_s, or ask for fewer tokens"
        case Fault(kind="cut"):
            return f"broke off in the middle of a reply.{said} Is it stable, and does nothing in between limit a reply's time?"
        case Fault(kind="stalled"):
            return f"stalled in the middle of a reply.{said} Give it longer with timeout_s, or ask a faster model"
        case Fault(kind="garbled"):
            return f"sends what is no reply.{said} Does the base URL end in /v1, and is no web page in between?"
        case Fault(status=401 | 403):
            return (
                f"refused the key (HTTP {fault.status}): set the environment variable {variable} to one that it takes"
            )
    return f"answered HTTP {fault.status}.{said} {_fix(fault)}".rstrip()


def _fix(fault: Fault) -> str:
    if 300 <= fault.status < 400:
        return f"It redirects to {fault.elsewhere.partition('?')[0] or 'another place'}: name that address if you trust it."
    if fault.status == 404:
        return "Is the model's name right, and does the base URL end in /v1?"
    if fault.status == 402 or "insufficient_quota" in fault.complaint.code:
        return "The account has no credit left."
    if fault.status == 429:
        return "Lower the concurrency, or wait."
    return "It is the endpoint's trouble: try later." if fault.status >= 500 else ""
