"""Anthropic's models, through the official SDK; an extra.

Sampling parameters go in the body as they are: newer SDKs have no name for them, and newer models refuse them, which is
found out by asking.
"""

from collections.abc import Mapping
from typing import Any

import anthropic
from pydantic import JsonValue

from kernelwright.models.address import checked, is_local
from kernelwright.models.answer import Answer
from kernelwright.models.capability import LENGTH, Capabilities
from kernelwright.models.claude_wire import parameters_of, read_message
from kernelwright.models.config import ModelConfig
from kernelwright.models.endpoint import Endpoint
from kernelwright.models.fault import Fault
from kernelwright.models.prices import address_of
from kernelwright.models.retry import RetryPolicy
from kernelwright.models.sdk import body_of
from kernelwright.models.secret import Secret, find_secret
from kernelwright.records.chat import ChatRequest

HOME = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"


class _Dialect:
    """Implements `Dialect`."""

    def __init__(self, config: ModelConfig, address: str, secret: Secret) -> None:
        self._model, self._timeout_s = config.name, config.timeout_s
        self._client = anthropic.AsyncAnthropic(
            api_key=secret.reveal(),
            base_url=address,
            max_retries=0,
            timeout=config.timeout_s,
            http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
        )

    def compose(self, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
        """See `Dialect.compose`."""
        return parameters_of(self._model, request, capabilities)

    async def send(self, parameters: Mapping[str, Any]) -> str | Fault:
        """See `Dialect.send`."""
        named = {name: value for name, value in parameters.items() if name != "temperature"}
        rest = {name: value for name, value in parameters.items() if name == "temperature"}
        create = self._client.messages.with_raw_response.create
        request = create(**named, extra_body=rest or None, timeout=self._timeout_s)
        return await body_of(anthropic, anthropic.AnthropicError, request, self._timeout_s)

    def read(self, body: JsonValue) -> Answer | Fault:
        """See `Dialect.read`."""
        return read_message(body)

    async def close(self) -> None:
        """See `Dialect.close`."""
        await self._client.close()


def open_model(config: ModelConfig, retries: RetryPolicy | None = None) -> Endpoint:
    """The model; no request is made yet.

    Raises:
        UsageError: the address or the key cannot be used.
    """
    address = checked(address_of(config) or HOME)
    secret = find_secret(config.key_variable or KEY, f"anthropic:{config.name}", is_local(address))
    capabilities = Capabilities(fixed={LENGTH})
    return Endpoint(config, _Dialect(config, address, secret), secret, capabilities, retries or RetryPolicy())
