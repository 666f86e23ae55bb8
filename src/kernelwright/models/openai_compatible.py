"""Any endpoint that speaks OpenAI's Chat Completions, through the official SDK.

The SDK only sends. Retries are ours, so that they are counted. Redirects are not followed, so that neither the key nor
the prompt goes where nobody sent it.
"""

from collections.abc import Mapping
from typing import Any

import openai
from pydantic import JsonValue

from kernelwright.models.answer import Answer
from kernelwright.models.capability import LENGTH_NEW, Capabilities
from kernelwright.models.config import ModelConfig, checked, is_local
from kernelwright.models.endpoint import Endpoint, body_of
from kernelwright.models.fault import Fault, RetryPolicy
from kernelwright.models.openai_wire import parameters_of, read_completion
from kernelwright.models.prices import address_of
from kernelwright.models.secret import Secret, find_secret
from kernelwright.records.chat import ChatRequest

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"


class _Dialect:
    """Implements `Dialect`."""

    def __init__(self, config: ModelConfig, address: str, secret: Secret) -> None:
        self._model, self._timeout_s = config.name, config.patience_s
        self._client = openai.AsyncOpenAI(
            api_key=secret.reveal(),
            base_url=address,
            max_retries=0,
            timeout=config.patience_s,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )

    def compose(self, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
        """See `Dialect.compose`."""
        return parameters_of(self._model, request, capabilities)

    async def send(self, parameters: Mapping[str, Any]) -> str | Fault:
        """See `Dialect.send`."""
        request = self._client.chat.completions.with_raw_response.create(**parameters)
        return await body_of(openai, openai.OpenAIError, request, self._timeout_s)

    def read(self, body: JsonValue) -> Answer | Fault:
        """See `Dialect.read`."""
        return read_completion(body)

    async def close(self) -> None:
        """See `Dialect.close`."""
        await self._client.close()


def open_model(config: ModelConfig, retries: RetryPolicy | None = None) -> Endpoint:
    """The model; no request is made yet.

    Raises:
        UsageError: the address or the key cannot be used.
    """
    address = checked(address_of(config) or HOME)
    secret = find_secret(config.key_variable or KEY, f"openai:{config.name}", is_local(address))
    capabilities = Capabilities(fixed={LENGTH_NEW} if config.capped else ())
    return Endpoint(config, _Dialect(config, address, secret), secret, capabilities, retries or RetryPolicy())
