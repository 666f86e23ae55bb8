"""What is known of baselines on disk: found again for the same question, for no other, and never an error."""

import pytest

from kernelwright.evaluate.pipeline import baselines
from kernelwright.records.measure import Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.run import Device
from kernelwright.testing import samples

RATIO = Ratio(median=0.5, low=0.48, high=0.52, confidence=0.995)
DEVICE = Device(kind="cuda", name="some GPU", cores=132)
VERSIONS = {"torch": "2.13.0", "driver": "580.1"}


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def place(**changes):
    asked = {"task": samples.sample_task(), "device": DEVICE, "versions": VERSIONS, "policy": Policy(), **changes}
    return baselines.place_on_disk(**asked)


def test_what_was_kept_is_found_again(cache):
    file = place()
    baselines.store(file, {"compile": RATIO})
    assert baselines.load(place()) == {"compile": RATIO}
    assert [f.name for f in file.parent.iterdir()] == [file.name]
    assert file.is_relative_to(cache)


@pytest.mark.parametrize(
    "changes",
    [
        {"versions": {**VERSIONS, "driver": "581.0"}},
        {"device": DEVICE.model_copy(update={"name": "another GPU"})},
        {"policy": Policy(confidence=0.95)},
    ],
    ids=["driver", "device", "rule"],
)
def test_another_question_finds_nothing(changes):
    baselines.store(place(), {"compile": RATIO})
    assert baselines.load(place(**changes)) == {}


def test_the_measured_bandwidth_is_no_part_of_the_question():
    assert place(device=DEVICE.model_copy(update={"memory_gbps": 4500.0})) == place()


@pytest.mark.parametrize("text", ["", "{", '{"compile": {"median": 1}}', '{"unheard of": null}'])
def test_an_illegible_file_is_as_none(text):
    file = place()
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert baselines.load(file) == {}


def test_a_file_that_cannot_be_written_is_done_without(cache):
    (cache / "kernelwright").write_text("in the way")
    baselines.store(place(), {"compile": RATIO})
    assert baselines.load(place()) == {}
