"""Who opens models closes them: once, when the run is over, however it ends."""

import asyncio

import pytest

from kernelwright.engine.config import load_config
from kernelwright.engine.session import play_in
from kernelwright.engine.suppliers import Suppliers
from kernelwright.testing.samples import sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.testing.scripted_chat import ScriptedModel


class Closing(ScriptedModel):
    closings = 0

    async def close(self):
        self.closings += 1


@pytest.mark.parametrize("fails", [(), (0,)])
def test_a_cells_models_are_closed_once(tmp_path, fails):
    model = Closing(fails=fails)
    suppliers = Suppliers(
        model=lambda config: model,
        cache=lambda: None,
        wrap=lambda task, candidate, other: candidate.source,
        render=lambda card, attempts, outcome, messages, files: "",
        present=lambda card, attempts, outcome, messages: "",
    )
    config = load_config(
        None, {"proposer": "llm", "models": {"default": {"name": "x"}}, "strategy": {"name": "direct", "n": 1}}
    )
    result = asyncio.run(play_in(tmp_path / "run", sample_task(), config, ScriptedEvaluator(), suppliers))
    assert (result.error is not None) == bool(fails)
    assert model.closings == 1
