"""A local checkpoint of Hugging Face's format, in this process, through transformers; an extra.

It loads nothing before the first request, nothing from a hub, no pickled weights and no code that comes with a
checkpoint. One request runs at a time, in a thread of its own.
"""

import asyncio
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import torch
import transformers
from jinja2 import TemplateError
from pydantic import JsonValue

from kernelwright.errors import ModelError, UsageError
from kernelwright.models import quantized
from kernelwright.models.config import ModelConfig
from kernelwright.models.openai_wire import Spoken, calls_in, message_json, tool_json, without_thoughts
from kernelwright.models.small import NAME as SMALL
from kernelwright.models.small import find_small
from kernelwright.models.wire import dict_in, flattened, folded, parsed
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest, Finish, ToolSpec, Usage

ADAPTER = "adapter_config.json"
SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


class Loaded(NamedTuple):
    """A network with its tokenizer."""

    tokenizer: Any
    network: Any


class _Stop:
    """Ends a generation whose request was given up."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def __call__(self, input_ids: Any, scores: Any, **_: object) -> Any:  # noqa: ANN401  torch is not typed here
        return torch.full((input_ids.shape[0],), self.asked.is_set(), dtype=torch.bool, device=input_ids.device)


class Checkpoint:
    """Implements `ChatModel`."""

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._loaded: Loaded | None = None

    @property
    def name(self) -> str:
        """See `ChatModel.name`."""
        return SMALL if self._config.name == SMALL else f"huggingface:{self._config.name}"

    async def close(self) -> None:
        """See `ChatModel.close`."""
        self._loaded = None
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def reply(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.reply`."""
        stop = _Stop()
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._answer, request, stop)
        try:
            return await work
        finally:
            stop.asked.set()

    def _answer(self, request: ChatRequest, stop: _Stop) -> ChatReply:
        started, request = monotonic(), self._config.within(request)
        tokenizer, network = self._load()
        prompt = tokenizer(
            prompt_text(tokenizer, request.messages, request.tools), add_special_tokens=False, return_tensors="pt"
        ).to(network.device)
        length = prompt["input_ids"].shape[1]
        room = min(request.max_tokens, _window(network) - length)
        tokens = self._generate(prompt, room, request, stop) if room > 0 else []
        # What does not end of its own accord was ended: by the length, by the time, or since it was given up.
        cut = not (tokens and tokens[-1] in _ends(network))
        spoken = without_thoughts(tokenizer.decode(tokens, skip_special_tokens=True))
        usage = Usage(prompt=length, completion=len(tokens), reasoning=len(tokenizer(spoken.thought)["input_ids"]))
        return self._reply(spoken, "length" if cut else "stop", usage, monotonic() - started)

    def _load(self) -> Loaded:
        if self._loaded is None:
            try:
                tokenizer, network = load_checkpoint(folder_of(self._config.name))
                self._loaded = Loaded(tokenizer, network.to("cuda" if torch.cuda.is_available() else "cpu").eval())
            except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
                raise ModelError(
                    f"{self.name} cannot be loaded: {error}. It must be a folder with a causal language model as "
                    "save_pretrained writes it (with a tokenizer), an adapter over one, or a .gguf file"
                ) from None
        return self._loaded

    def _generate(self, prompt: Any, room: int, request: ChatRequest, stop: _Stop) -> list[int]:  # noqa: ANN401
        how: dict[str, Any] = {"do_sample": False}
        if request.temperature:
            how = {"do_sample": True, "temperature": request.temperature, "top_k": 0}
        _, network = self._load()
        settings = transformers.GenerationConfig(
            max_new_tokens=room,
            max_time=self._config.timeout_s,
            eos_token_id=sorted(_ends(network)) or None,
            pad_token_id=min(_ends(network), default=0),
            **how,
        )
        devices = [network.device] if network.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), torch.inference_mode():
            if request.seed is not None:
                torch.manual_seed(request.seed)
            found = network.generate(
                **prompt,
                generation_config=settings,
                stopping_criteria=transformers.StoppingCriteriaList([stop]),
            )
        return [int(token) for token in found[0, prompt["input_ids"].shape[1] :]]

    def _reply(self, spoken: Spoken, finish: Finish, usage: Usage, seconds: float) -> ChatReply:
        text, calls = calls_in(spoken.text)
        if calls:
            finish = "tools"
        elif not text.strip() and finish == "stop":
            finish = "other"
        return ChatReply(
            text=text, calls=calls, finish=finish, model=self._config.name, usage=usage, usd=0.0, seconds=seconds
        )


def open_model(config: ModelConfig) -> Checkpoint:
    """The model; nothing is loaded yet.

    Raises:
        UsageError: there is no such folder.
    """
    if not is_checkpoint(folder_of(config.name)):
        raise UsageError(
            f"huggingface:{config.name} must be a folder with a config.json, as save_pretrained writes it, or with an "
            "adapter, or a .gguf file; a model on a hub is fetched beforehand, with `hf download`"
        )
    return Checkpoint(config)


def folder_of(name: str) -> str:
    """Where a checkpoint is: a path as it is, and the packaged model by its name.

    Raises:
        UsageError: the packaged model is not installed.
    """
    return str(find_small()) if name == SMALL else name


def prompt_text(tokenizer: Any, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> str:  # noqa: ANN401
    """The dialogue by the tokenizer's own template; in plain words where it has none.

    What a template does not take is said in other words: first the system's, then the tools'.
    """
    if not tokenizer.chat_template:
        return plain_text(messages)
    tried: tuple[tuple[Sequence[ChatMessage], Sequence[ToolSpec]], ...] = (
        (messages, tools),
        (folded(messages), tools),
        (folded(flattened(messages)), ()),
    )
    complaint = ""
    for dialogue, offered in tried:
        try:
            return str(
                tokenizer.apply_chat_template(
                    [_turn(message) for message in dialogue],
                    tools=[tool_json(tool) for tool in offered] or None,
                    add_generation_prompt=True,
                    tokenize=False,
                )
            )
        except TemplateError as error:
            complaint = str(error)
    raise ModelError(f"the chat template of the tokenizer refuses the dialogue: {complaint}")


def plain_text(messages: Sequence[ChatMessage]) -> str:
    """A dialogue for a model without a template."""
    turns = (f"### {message.role.capitalize()}\n{message.text}\n" for message in flattened(messages))
    return "\n".join((*turns, "### Assistant\n"))


def _turn(message: ChatMessage) -> dict[str, JsonValue]:
    """As OpenAI writes it, but for what templates look into: a text where there is none, and arguments as an object."""
    turn: dict[str, JsonValue] = {**message_json(message), "content": message.text}
    if message.calls:
        turn["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": dict_in(parsed(c.arguments))}}
            for c in message.calls
        ]
    return turn


def load_checkpoint(where: str, dtype: Any = "auto") -> Loaded:  # noqa: ANN401  torch is not typed here
    """The network at a path, on the CPU: a checkpoint's folder, packed or not, an adapter's over a local base, or a GGUF file.

    Raises:
        OSError, ValueError, KeyError, RuntimeError, ImportError: it is none, or a package is missing.
    """
    path = Path(where)
    if (path / ADAPTER).is_file():
        config = json.loads((path / ADAPTER).read_text())
        if config.get("megatron_config") or not (path / "adapter_model.safetensors").is_file():
            raise OSError(f"{path} has no adapter_model.safetensors, or names a module to import: neither is loaded")
        base = load_checkpoint(config["base_model_name_or_path"], dtype)
        return base._replace(
            network=import_module("peft").PeftModel.from_pretrained(base.network, path).merge_and_unload()
        )
    if path.suffix == ".gguf":
        folder, how = path.parent, {**SAFE, "gguf_file": path.name}
    else:
        folder, how = path, SAFE
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **how)
    if (path / quantized.FILE).is_file():
        return Loaded(tokenizer, quantized.load(path, dtype))
    safely = {} if path.suffix == ".gguf" else {"use_safetensors": True}
    return Loaded(tokenizer, transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **safely, **how))


def is_checkpoint(where: str) -> bool:
    """Whether a path looks like one that can be loaded."""
    path = Path(where)
    return (path.suffix == ".gguf" and path.is_file()) or any(
        (path / name).is_file() for name in (ADAPTER, "config.json")
    )


def _window(network: Any) -> int:  # noqa: ANN401
    return int(getattr(network.config, "max_position_embeddings", 0) or 1 << 30)


def _ends(network: Any) -> set[int]:  # noqa: ANN401
    ends = network.generation_config.eos_token_id
    if ends is None:
        return set()
    return {ends} if isinstance(ends, int) else set(ends)
