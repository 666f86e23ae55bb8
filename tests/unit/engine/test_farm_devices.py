"""The state of the devices: of this machine its turns; of a cluster that is not there, the cure."""

import fcntl
import os

import pytest

from kernelwright.engine.farm import farm_status
from kernelwright.errors import UsageError
from kernelwright.execution.executor import Place, place_of
from kernelwright.execution.turns import SHARED, Turns
from kernelwright.execution.turns import place_of as turns_on


@pytest.fixture
def turns(tmp_path, monkeypatch):
    monkeypatch.setenv(SHARED, str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return Turns(turns_on("cpu"))


def test_a_device_here_is_held_by_whose_turn_it_is(turns):
    turns.take("alone")
    found = farm_status(Place())
    (device,) = found.devices
    assert (device.kind, device.holder, device.busy) == ("cpu", f"worker {os.getpid()}, alone", True)
    assert found.waiting == 0
    assert (found.verdicts_a_minute, found.utilisation, found.workers_lost) == (None, None, None)


def test_a_device_here_is_free_after_a_turn(turns):
    turns.take("shared")
    turns.take(None)
    found = farm_status(Place())
    assert [(device.kind, device.holder, device.busy) for device in found.devices] == [("cpu", "", False)]
    assert found.commands == ()


def test_who_waits_for_a_turn_is_in_the_queue(turns):
    turns.take("alone")
    late = turns_on("cpu") / f"9-alone-{os.getpid()}"
    late.touch()
    with late.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = farm_status(Place())
    assert [(command.workers, command.waiting, command.tasks) for command in found.commands] == [
        (1, 0, {}),
        (0, 1, {"a turn on cpu": 1}),
    ]
    assert found.waiting == 1


@pytest.mark.parametrize(
    ("place", "cure"), [(Place("ray"), "Say --ray-address HEAD:6379"), (Place("moon"), "ray or ray://HEAD:PORT")]
)
def test_what_cannot_be_asked_is_told_with_its_cure(turns, place, cure):
    with pytest.raises(UsageError, match=cure):
        farm_status(place)


@pytest.mark.parametrize(
    ("spelling", "address", "place"),
    [
        ("local", None, Place()),
        ("ray", "head:6379", Place("ray", "head:6379")),
        ("ray://head:6379", None, Place("ray", "head:6379")),
        ("ray://head:10001", "other:1", Place("ray", "other:1")),
        ("moon", None, Place("moon")),
    ],
)
def test_a_place_has_one_word(spelling, address, place):
    assert place_of(spelling, address) == place
