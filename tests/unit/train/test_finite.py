"""A gradient that is no number reaches no weight, and a run in which none are numbers ends with words."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from kernelwright.errors import UsageError  # noqa: E402
from kernelwright.train.engine.watch import MOST, Finite, sound_attention  # noqa: E402


def stepped(watch, model, optimizer, factor):
    """One step whose loss is so many times a sum; as the trainer goes about it."""
    optimizer.zero_grad()
    (factor * model(torch.ones(1, 2)).sum()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    watch.on_pre_optimizer_step(None, SimpleNamespace(global_step=7), None, model=model)
    optimizer.step()


@pytest.fixture
def trained():
    model = torch.nn.Linear(2, 1)
    return Finite(), model, torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.0)


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_a_gradient_that_is_no_number_leaves_the_weights_alone(trained, factor):
    before = trained[1].weight.clone()
    stepped(*trained, factor)
    assert torch.equal(trained[1].weight, before)
    stepped(*trained, 1.0)
    assert not torch.equal(trained[1].weight, before)
    assert trained[1].weight.isfinite().all()


def test_a_run_of_them_ends_with_the_cure(trained):
    for _ in range(MOST - 1):
        stepped(*trained, float("nan"))
    stepped(*trained, 1.0)  # counts anew
    for _ in range(MOST - 1):
        stepped(*trained, float("nan"))
    with pytest.raises(UsageError, match=r"steps 6 to 8 are infinite or not numbers.*lower learning_rate"):
        stepped(*trained, float("nan"))


def test_attention_is_not_left_to_cudnn():
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        sound_attention()
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled=before)
