"""Any endpoint that speaks OpenAI's Chat Completions or its Responses API, through the official SDK."""

from collections.abc import Mapping
from typing import Any

import openai
from pydantic import JsonValue

from kernelwright.models import openai_responses, openai_wire
from kernelwright.models.answer import Answer
from kernelwright.models.capability import LENGTH, LENGTH_NEW, STREAM, Capabilities
from kernelwright.models.config import ModelConfig, checked, is_local
from kernelwright.models.endpoint import Endpoint, Secret, find_secret
from kernelwright.models.fault import Fault, RetryPolicy
from kernelwright.models.openai_responses import ResponsePieces
from kernelwright.models.openai_wire import ChatPieces
from kernelwright.models.prices import address_of
from kernelwright.models.stream import Pace, Pieces, Sdk
from kernelwright.records.chat import ChatRequest

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
SDK = Sdk(openai, openai.OpenAIError)
LENGTHS = (LENGTH, LENGTH_NEW, "max_output_tokens")


class _Dialect:
    """Implements `Dialect`."""

    def __init__(self, config: ModelConfig, address: str, secret: Secret) -> None:
        self._config, self._responses = config, config.api == "responses"
        self._client = SDK.client("AsyncOpenAI", secret.reveal(), address, config.patience_s)

    def compose(self, request: ChatRequest, capabilities: Capabilities) -> dict[str, JsonValue]:
        """See `Dialect.compose`."""
        wire = openai_responses if self._responses else openai_wire
        parameters: dict[str, JsonValue] = wire.parameters_of(self._config.name, request, capabilities)
        options, stream = STREAM
        if self._config.stream and stream not in capabilities.dropped:
            parameters[stream] = True
            if not self._responses and options not in capabilities.dropped:
                parameters[options] = {"include_usage": True}
        return parameters

    async def send(self, parameters: Mapping[str, Any]) -> str | Fault:
        """See `Dialect.send`."""
        if parameters.get("stream"):
            most = next((parameters[name] for name in LENGTHS if name in parameters), self._config.max_tokens)
            pieces: Pieces = ResponsePieces() if self._responses else ChatPieces()
            pace = Pace(self._config.patience_s, self._config.timeout_s, most)
            path = "/responses" if self._responses else "/chat/completions"
            return await SDK.pieced(SDK.opened(self._client, path, parameters), pieces, pace)
        client: Any = self._client.responses if self._responses else self._client.chat.completions
        return await SDK.whole(client.with_raw_response.create(**parameters), self._config.patience_s)

    def read(self, body: JsonValue) -> Answer | Fault:
        """See `Dialect.read`."""
        return openai_responses.read_response(body) if self._responses else openai_wire.read_completion(body)

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
