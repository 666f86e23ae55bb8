"""Estimates tokens from bytes, for a budget's gate and not for a bill.

There is no tokenizer: every model has another one.
"""

import json
from math import ceil

from kernelwright.records.chat import ChatRequest

BYTES_A_TOKEN = 3.0
"""UTF-8 bytes for a token: English has about 4, source code 2.5 to 3.5."""
FEWEST_BYTES_A_TOKEN = 2.0
"""For the upper bound: denser than any source code."""
MESSAGE_TOKENS = 8
"""The most tokens that a chat template adds to a message."""


def tokens_in(text: str, bytes_a_token: float = BYTES_A_TOKEN) -> int:
    """About how many tokens a text has."""
    return ceil(len(text.encode()) / bytes_a_token)


def prompt_tokens(request: ChatRequest, bytes_a_token: float = BYTES_A_TOKEN) -> int:
    """About how many tokens a request's messages and tools have."""
    parts = [message.text for message in request.messages]
    parts += [call.name + call.arguments for message in request.messages for call in message.calls]
    parts += [tool.name + tool.description + json.dumps(tool.parameters) for tool in request.tools]
    return sum(tokens_in(part, bytes_a_token) for part in parts) + MESSAGE_TOKENS * len(request.messages)
