"""ModelConfig: which model serves a role, where it is, and how it is asked.

A command line spells it `provider:name@base_url`. It holds the name of the variable that has the key, never the key;
an address that holds a secret is refused.
"""

import ipaddress
import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from kernelwright.errors import UsageError
from kernelwright.models.small import LONGEST
from kernelwright.models.small import NAME as SMALL
from kernelwright.plugins import plugin_names
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatRequest, ReasoningEffort

PROVIDERS = ("openai", "anthropic", "huggingface", "replay")
"""The built-in ones; a plug-in's name is one too."""
SHORT = {"hf": "huggingface"}
"""Spellings of a provider on a command line."""
REASONING = {"minimal": 1024, "low": 4096, "medium": 16384, "high": 32768, "xhigh": 65536}
"""Tokens of reasoning that are set aside for each effort, where nobody names a number."""
SLOW_TOKENS_S = 40.0
"""Tokens a second that a slow reasoning model writes."""
DEFAULT = "default"
"""The role that stands for every role without a model of its own."""


class ModelConfig(Record):
    """One model."""

    provider: str = "openai"
    """`openai` is any endpoint that speaks its protocol; `replay` answers from a run that was recorded."""
    name: str
    """The model's name at its endpoint; a folder for `huggingface`, a run's folder for `replay`."""
    base_url: str | None = None
    """None: what OPENAI_BASE_URL says, or the provider's own."""
    key_variable: str | None = None
    """The environment variable with the key. None: the provider's own, such as OPENAI_API_KEY."""
    temperature: float | None = Field(default=None, ge=0)
    """None: the role's own."""
    max_tokens: int = Field(default=16384, ge=1)
    """The longest answer, in tokens."""
    effort: ReasoningEffort | None = None
    """How much a reasoning model thinks; None: the endpoint's own."""
    thinking_tokens: int | None = Field(default=None, ge=0)
    """Tokens of reasoning beside the answer's. None: what the effort usually takes; 0 without one."""
    concurrency: int = Field(default=4, ge=1)
    """Requests in flight at once."""
    retries: int = Field(default=6, ge=0)
    """How often to try again after a refused connection, a timeout, 408, 409, 425, 429 or 5xx."""
    timeout_s: float = Field(default=300.0, gt=0)
    """How long one try may take; of a reply that comes in pieces, how long it may be silent."""
    stream: bool = True
    """Replies come in pieces, where the provider is `openai` and the endpoint can."""
    api: Literal["chat", "responses"] = "chat"
    """Of the provider `openai`: Chat Completions, which every endpoint has, or the Responses API."""
    capped: bool = False
    """The run has a cap on tokens or money: an endpoint that takes no limit of a reply is an error. Set by the run."""

    @field_validator("provider")
    @classmethod
    def _provider_is_known(cls, name: str) -> str:
        if not is_provider(name):
            raise ValueError(f"must be one of {', '.join(provider_names())}")
        return name

    @property
    def reasoning_tokens(self) -> int:
        """Tokens that are set aside for reasoning, so that it does not eat the answer's room."""
        return REASONING.get(self.effort or "", 0) if self.thinking_tokens is None else self.thinking_tokens

    @property
    def patience_s(self) -> float:
        """How long one try may take: what is configured, and the time that the reasoning itself takes at a slow rate."""
        return self.timeout_s + self.reasoning_tokens / SLOW_TOKENS_S

    def within(self, request: ChatRequest) -> ChatRequest:
        """The request as this model is asked: what is configured wins over what a role would like."""
        temperature = request.temperature if self.temperature is None else self.temperature
        room = min(request.max_tokens, self.max_tokens + self.reasoning_tokens)
        asked = {"effort": self.effort, "thinking_tokens": min(self.reasoning_tokens, room // 2)}
        return request.model_copy(update={"temperature": temperature, "max_tokens": room, **asked})


def is_provider(name: str) -> bool:
    """Whether models of that provider can be asked; a plug-in is not imported for that."""
    return name in PROVIDERS or name in plugin_names("models")


def provider_names() -> tuple[str, ...]:
    """Every provider, plug-ins' included."""
    return tuple(dict.fromkeys((*PROVIDERS, *plugin_names("models"))))


_BARE_ADDRESS = re.compile(r"@(localhost|\[[\da-fA-F:]+\]|[\w.-]+(?=:\d)|[\w-]+(?:\.[\w-]+)+(?=/))(:\d+)?(/\S*)?$")
"""An address without its scheme: a host with a port or a path. A version after an @, as some names have, is none."""


def read_model(text: str) -> ModelConfig:
    """A model as the command line spells it: `openai:gpt-5`, `openai:qwen@http://localhost:8000/v1`, `hf:FOLDER`.

    The packaged model is `kernelwright-small`, without a provider.

    Raises:
        UsageError: the provider is unknown, the name is missing, or the address cannot be used.
    """
    if text == SMALL:
        return ModelConfig(provider="huggingface", name=SMALL, max_tokens=LONGEST)
    written, _, rest = text.partition(":")
    provider = SHORT.get(written, written)
    name, _, url = rest.partition("@http")
    if not name or not is_provider(provider):
        hint = f" (openai:{text} for OpenAI's)" if text and ":" not in text else ""
        raise UsageError(
            f"model {text!r} is not PROVIDER:NAME or PROVIDER:NAME@URL, with a provider of {', '.join(provider_names())}{hint}"
        )
    if not url and (bare := _BARE_ADDRESS.search(name)) is not None:
        whole = f"{provider}:{name[: bare.start()]}@http://{bare[0][1:]}"
        raise UsageError(f"model {text!r}: an address begins with http:// or https://, such as {whole}")
    return ModelConfig(provider=provider, name=name, base_url=checked(f"http{url}") if url else None)


_OWN_ENDINGS = (".local", ".internal", ".lan", ".home.arpa")


def is_local(url: str) -> bool:
    """Whether the endpoint is on this machine or a private network: loopback, a private address, a bare host name."""
    host = _host(url)
    if is_loopback(url) or host.endswith(_OWN_ENDINGS):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and "." not in host
    return address.is_private or address.is_link_local


def is_loopback(url: str) -> bool:
    """Whether the endpoint is on this machine."""
    host = _host(url)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".").lower()


def shown(url: str) -> str:
    """The address for a message: without user, password, query and fragment."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


def checked(url: str) -> str:
    """The same address, if it is one and holds no secret.

    Raises:
        UsageError: it is no address of HTTP, or has a user or password in it.
    """
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    if not named or parts.scheme not in {"http", "https"}:
        raise UsageError("the base URL of a model must be http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH")
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(
            f"the base URL {shown(url)} has a user, a password or a query in it, which would be stored with the run: "
            "put the key into an environment variable and name that one"
        )
    return url
