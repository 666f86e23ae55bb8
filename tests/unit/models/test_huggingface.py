"""A local checkpoint: greedy and sampled, counted exactly, cut where it must be."""

import asyncio
import json

import peft
import pytest
import torch
from chat_endpoint import replies
from jinja2 import Environment

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.models.huggingface import is_checkpoint, load_checkpoint, prompt_text
from kernelwright.models.table import make_model
from kernelwright.records.chat import ChatMessage, ChatRequest, ToolCall, ToolSpec
from tiny_checkpoint import write_checkpoint

ASKED = ChatRequest(
    messages=(ChatMessage(role="system", text="s"), ChatMessage(role="user", text="hello")), max_tokens=12
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("tiny"))


def ask(folder, *requests, **fields):
    model = make_model(ModelConfig(provider="huggingface", name=str(folder), **fields))
    return replies(model, *requests, together=True)


class Tokenizer:
    """Renders as transformers does, with a template that joins what it is given."""

    chat_template = (
        "{% for m in messages %}{{ m.role + ':' + m.content }};{% for c in m.tool_calls or () %}"
        "{{ c.id }}={{ c.function.name }}({{ c.function.arguments | tojson }});{% endfor %}"
        "{% if m.tool_call_id %}to {{ m.tool_call_id }};{% endif %}{% endfor %}"
        "{% for t in tools or () %}offered {{ t.function.name }}{% endfor %}"
    )

    def apply_chat_template(self, messages, tools, **_):
        return Environment().from_string(self.chat_template).render(messages=messages, tools=tools)


def sampled(seed):
    return ASKED.model_copy(update={"temperature": 1.0, "seed": seed})


def test_greedy_and_sampled(checkpoint):
    greedy, again, one, same, other = ask(checkpoint, ASKED, ASKED, sampled(1), sampled(1), sampled(2))
    assert greedy.text == again.text
    assert one.text == same.text
    assert len({greedy.text, one.text, other.text}) == 3


def test_counts_are_exact_and_the_length_holds(checkpoint):
    reply = ask(checkpoint, ASKED)[0]
    assert reply.finish == "length"
    assert reply.usage.completion == 12
    assert reply.usage.prompt == len("s") + len("hello") + 5
    assert not reply.usage.estimated
    assert (reply.usd, reply.model) == (0.0, str(checkpoint))


def test_the_window_bounds_the_reply(checkpoint):
    long = ChatRequest(messages=(ChatMessage(role="user", text="x" * 505),), max_tokens=100)
    reply = ask(checkpoint, long)[0]
    assert (reply.usage.prompt, reply.usage.completion, reply.finish) == (508, 4, "length")
    full = ChatRequest(messages=(ChatMessage(role="user", text="x" * 600),), max_tokens=100)
    reply = ask(checkpoint, full)[0]
    assert (reply.text, reply.usage.completion, reply.finish) == ("", 0, "length")


def test_a_reply_that_time_cut_off_is_no_finished_one(checkpoint):
    reply = ask(checkpoint, ASKED, timeout_s=1e-9)[0]
    assert 0 < reply.usage.completion < ASKED.max_tokens
    assert reply.finish == "length"


def test_a_reply_that_ends_by_itself_is_finished(checkpoint, tmp_path):
    said = ask(checkpoint, ASKED)[0].text[0]
    folder = write_checkpoint(tmp_path / "curt")
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    settings = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**settings, "eos_token_id": [0, vocabulary[said]]}))
    reply = ask(folder, ASKED)[0]
    assert (reply.text, reply.usage.completion, reply.finish) == (said, 1, "stop")


def test_a_template_gets_results_as_openai_writes_them_and_arguments_as_an_object():
    tokenizer = Tokenizer()
    dialogue = (
        ChatMessage(role="user", text="go"),
        ChatMessage(role="assistant", calls=(ToolCall(id="c", name="compile", arguments='{"code": "x"}'),)),
        ChatMessage(role="tool", text="ok", call="c"),
    )
    told = prompt_text(tokenizer, dialogue, (ToolSpec(name="compile", description="d", parameters={"type": "object"}),))
    assert told == 'user:go;assistant:;c=compile({"code": "x"});tool:ok;to c;offered compile'


def test_a_template_without_tools_gets_plain_text(checkpoint):
    dialogue = (
        ChatMessage(role="user", text="go"),
        ChatMessage(role="assistant", calls=(ToolCall(id="c", name="compile", arguments="{}"),)),
        ChatMessage(role="tool", text="ok", call="c"),
    )
    reply = ask(checkpoint, ASKED.model_copy(update={"messages": dialogue}))[0]
    flat = "go" + "Call c: compile({})" + "Result of c:\nok"
    assert reply.usage.prompt == len(flat) + 2 * 3 + 1


def test_without_a_template_the_dialogue_is_plain_text(tmp_path):
    folder = write_checkpoint(tmp_path / "bare", template=None)
    reply = ask(folder, ASKED)[0]
    assert reply.usage.prompt == len("### System\ns\n\n### User\nhello\n\n### Assistant\n")


def test_what_is_no_checkpoint(tmp_path):
    with pytest.raises(UsageError, match="folder with a config"):
        ask(tmp_path, ASKED)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="save_pretrained"):
        ask(tmp_path, ASKED)


def test_a_request_that_is_given_up_ends_its_generation(checkpoint):
    async def run():
        model = make_model(ModelConfig(provider="huggingface", name=str(checkpoint)))
        try:
            await model.reply(ASKED)
            given_up = asyncio.create_task(model.reply(ASKED.model_copy(update={"max_tokens": 480})))
            await asyncio.sleep(0.05)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            return await model.reply(ASKED)
        finally:
            await model.close()

    assert asyncio.run(run()).usage.completion == 12


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft asks transformers under an old name
def test_an_adapter_is_merged_into_its_base_and_what_is_none_is_refused(checkpoint, tmp_path):
    base = load_checkpoint(str(checkpoint))
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    adapted = peft.get_peft_model(base.network, config)
    adapted.peft_config["default"].base_model_name_or_path = str(checkpoint)
    adapted.save_pretrained(tmp_path / "adapter")
    tokens = torch.tensor([[1, 2, 3]])
    expected = adapted(tokens).logits
    found = load_checkpoint(str(tmp_path / "adapter"))
    torch.testing.assert_close(found.network(tokens).logits, expected, atol=1e-4, rtol=1e-4)
    assert is_checkpoint(str(tmp_path / "adapter"))
    assert not is_checkpoint(str(tmp_path))


@pytest.mark.parametrize(
    ("config", "weights"),
    [
        ({}, ""),
        ({}, "adapter_model.bin"),
        ({"megatron_config": {"a": 1}, "megatron_core": "antigravity"}, "adapter_model.safetensors"),
    ],
)
def test_an_adapter_brings_neither_pickles_nor_modules(tmp_path, checkpoint, config, weights, monkeypatch):
    """Refused before peft sees the folder, or a base is loaded."""
    monkeypatch.setattr("kernelwright.models.huggingface.import_module", lambda name: pytest.fail(name))
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(checkpoint), **config}))
    if weights:
        (tmp_path / weights).write_bytes(b"x")
    with pytest.raises(OSError, match="neither is loaded"):
        load_checkpoint(str(tmp_path))
