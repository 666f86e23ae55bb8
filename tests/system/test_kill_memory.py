"""A run whose strategy remembers is killed with SIGKILL at each seam of its end, and resumed: it counts once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.store.memory import StateKey, StrategyStates
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card
from lanes import sampled

CHILD = Path(__file__).with_name("memory_child.py")
TRIALS = 4


def live(folder, file, seam="none"):
    return subprocess.run([sys.executable, CHILD, folder, file, seam], check=False).returncode


def pulls(file):
    card = sample_card()
    held = StrategyStates(file).read(StateKey("bandit", card.environment.device.name, card.task.graph.family))
    return sum(arm["pulls"] for arm in held["arms"].values()) if held else 0


def asked(folder):
    store = RunStore.open(folder)
    try:
        return store.card.state, store.state(), store.proposal_requests(), store.attempts(), store.tells()
    finally:
        store.close()


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """What two runs leave that nobody disturbed: the second begins with what the first learned."""
    folder = tmp_path_factory.mktemp("calm")
    assert [live(folder / name, folder / "states") for name in ("first", "second")] == [0, 0]
    return asked(folder / "second"), pulls(folder / "states")


@pytest.mark.parametrize(
    ("seam", "counted"),
    sampled([("search", 0), ("before", 0), ("within", 0), ("after", TRIALS)], lambda seam, counted: seam == "within"),
)
def test_a_killed_run_counts_once_and_asks_the_same(tmp_path, calm, seam, counted):
    file = tmp_path / "states"
    assert live(tmp_path / "first", file) == 0
    assert live(tmp_path / "second", file, seam) == -signal.SIGKILL
    assert pulls(file) == TRIALS + counted
    assert live(tmp_path / "other", file) == 0, "the memory moves on while the run is down"
    assert live(tmp_path / "second", file) == 0
    assert asked(tmp_path / "second") == calm[0]
    assert pulls(file) == 3 * TRIALS == calm[1] + TRIALS
