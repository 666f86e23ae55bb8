"""The packaged model: eight bits a weight, found by its name, and a clear word where it is missing."""

import pytest
import torch
from chat_endpoint import replies

from kernelwright.errors import UsageError
from kernelwright.models import quantized, small
from kernelwright.models.config import read_model
from kernelwright.models.huggingface import load_checkpoint
from kernelwright.models.table import make_model
from kernelwright.records.chat import ChatMessage, ChatRequest
from kernelwright.train.engine.network import make_small

TEXTS = ["@triton.jit\ndef _kernel(x_ptr, out_ptr, rows, cols: tl.constexpr):\n    tile = tl.program_id(0)\n"] * 4


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Random weights in the form that the trained model has."""
    return make_small(tmp_path_factory.mktemp("small") / "model", TEXTS, "1M", vocabulary=300)


@pytest.fixture(scope="module")
def packed(tmp_path_factory, source):
    folder = tmp_path_factory.mktemp("packed") / "model"
    quantized.pack(source, folder)
    return folder


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch, tmp_path):
    monkeypatch.delenv(small.VARIABLE, raising=False)
    monkeypatch.setattr(small, "PACKAGED", tmp_path / "nothing")


def test_a_row_is_rounded_to_half_a_step_of_its_own_scale():
    matrix = torch.tensor([[1.0, -2.0, 0.004], [0.0, 0.0, 0.0], [1e-6, 2e-6, -1e-6]])
    whole, scale = quantized.rounded(matrix)
    assert whole.dtype == torch.int8
    assert ((whole * scale - matrix).abs() <= scale / 2 * 1.001).all()
    assert scale[1].item() == 0.0


def test_packed_weights_are_a_quarter_of_the_size_and_say_nearly_the_same(source, packed):
    before = (source / "model.safetensors").stat().st_size
    assert (packed / quantized.FILE).stat().st_size < 0.3 * before
    asked = torch.arange(40)[None]
    with torch.no_grad():
        exact, rough = (load_checkpoint(str(f), torch.float32).network(asked).logits for f in (source, packed))
    assert not torch.equal(exact, rough)
    assert (rough - exact).norm() < 0.05 * exact.norm()


def test_what_is_tied_is_stored_once_and_loaded_tied(packed):
    network = load_checkpoint(str(packed)).network
    assert network.lm_head.weight.data_ptr() == network.model.embed_tokens.weight.data_ptr()
    assert network.generation_config.eos_token_id == network.config.eos_token_id


def test_weights_of_another_form_are_refused(tmp_path, packed):
    other = make_small(tmp_path / "other", TEXTS, "4M", vocabulary=300)
    (other / quantized.FILE).write_bytes((packed / quantized.FILE).read_bytes())
    with pytest.raises(ValueError, match=r"does not fit its config\.json: .*layers\.3"):
        quantized.load(other)


def test_it_is_a_model_by_its_name_alone(monkeypatch, packed):
    monkeypatch.setenv(small.VARIABLE, str(packed))

    model = make_model(read_model("kernelwright-small"))
    (reply,) = replies(
        model, ChatRequest(messages=(ChatMessage(role="user", text="relu"),), max_tokens=4, temperature=0.0)
    )
    name = model.name
    assert name == reply.model == "kernelwright-small"
    assert 0 < reply.usage.completion <= 4


def test_where_it_is_missing_the_cure_is_named(monkeypatch, tmp_path):
    with pytest.raises(UsageError, match=r"no weights of it\. Set KERNELWRIGHT_SMALL to a folder that .*pack_small"):
        make_model(read_model("kernelwright-small"))
    monkeypatch.setenv(small.VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match="which holds no model"):
        make_model(read_model("kernelwright-small"))
