"""The policy that a KL term pulls to is found by TRL, whatever kind of file the model came from."""

import pytest
import torch

from kernelwright.models import quantized
from kernelwright.train.engine.network import make_small, open_network

pytest.importorskip("trl")
TEXTS = ["tile = tl.program_id(0)\n"] * 3


def test_a_model_of_eight_bits_is_kept_in_a_form_that_trl_loads(tmp_path):
    from trl.trainer.utils import create_model_from_path, get_config_model_id  # noqa: PLC0415

    from kernelwright.train.engine.grpo import keep_reference  # noqa: PLC0415  imports TRL

    quantized.pack(make_small(tmp_path / "model", TEXTS, "1M", vocabulary=300), tmp_path / "packed")
    network = open_network(str(tmp_path / "packed"))
    keep_reference(network, tmp_path / "run" / "reference")
    found = create_model_from_path(get_config_model_id(network.model.config))
    asked = torch.arange(20)[None]
    with torch.no_grad():
        assert torch.allclose(found(asked).logits.float(), network.model(asked).logits.float(), atol=1e-4)
