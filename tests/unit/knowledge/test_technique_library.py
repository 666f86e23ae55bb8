"""The library of techniques: what it must hold, and what it refuses."""

import ast
import json
import shutil
from pathlib import Path

import pytest

from kernelwright.errors import UsageError
from kernelwright.knowledge.library import (
    FOLDER,
    read_card,
    read_library,
    technique,
    techniques,
    techniques_with_examples,
)
from kernelwright.records.technique import Gain, Technique
from kernelwright.tasks.kernel_file import parse_kernel
from kernelwright.tasks.table import read_task

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
CARD = FOLDER / "cards" / "simd-reduction"


@pytest.fixture
def card(tmp_path):
    """A copy of a card, to be spoiled."""
    return Path(shutil.copytree(CARD, tmp_path / "cards" / CARD.name))


def test_there_are_enough_cards_in_each_language():
    languages = [example.language for _, example in techniques_with_examples()]
    assert languages.count("cpp") >= 10
    assert languages.count("triton") >= 10
    assert languages.count("cuda") + languages.count("cuda_host") >= 10


def test_names_and_titles_are_unique():
    assert len({card.name for card in techniques()}) == len({card.title for card in techniques()}) == len(techniques())


@pytest.mark.parametrize(
    ("card", "example"), techniques_with_examples(), ids=[card.name for card, _ in techniques_with_examples()]
)
def test_a_card_is_whole(card, example):
    assert ("cpu" if example.language == "cpp" else "cuda") in card.targets
    assert not example.sizes or example.task_on_device != example.task
    ast.parse(example.task_on_device)
    for text in (example.before, example.after):
        assert parse_kernel(text, example.suffix).language == example.language


@pytest.mark.parametrize(
    "folder", sorted(file.parent for file in (FOLDER / "cards").glob("*/task.py")), ids=lambda f: f.name
)
def test_a_cards_task_can_be_read(folder):
    assert read_task(folder / "task.py").source


def test_what_is_for_a_gpu_says_at_which_sizes_it_pays():
    assert all(example.sizes for _, example in techniques_with_examples() if example.language != "cpp")


def test_a_card_survives_json():
    for card in techniques():
        assert Technique.model_validate_json(card.model_dump_json()) == card


def test_a_technique_is_found_by_its_name():
    assert technique("split-k").title == "Split the inner dimension of a product"
    with pytest.raises(UsageError, match="unknown technique 'magic': expected one of algorithmic-change"):
        technique("magic")


def test_the_gains_are_those_of_the_committed_results():
    table = {}
    for file in sorted(RESULTS.glob("techniques-*.json")):
        document = json.loads(file.read_text())
        table[document["device"]] = {row["technique"]: row["gain"] for row in document["rows"] if "gain" in row}
    assert json.loads((FOLDER / "measured.json").read_text()) == table
    assert sum(len(card.gains) for card in techniques()) == sum(len(rows) for rows in table.values())


@pytest.mark.parametrize(
    ("low", "high", "payoff"), [(1.1, 1.4, "faster"), (0.9, 1.4, "no difference"), (0.5, 0.9, "slower")]
)
def test_a_gain_says_no_more_than_its_interval(low, high, payoff):
    assert Gain(device="any", median=1.0, low=low, high=high).payoff == payoff


@pytest.mark.parametrize("name", ["card.md"])
def test_a_missing_file_is_named(card, name):
    (card / name).unlink()
    with pytest.raises(UsageError, match=rf"{name} cannot be read \(No such file or directory\)"):
        read_card(card)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("+++\ntitle", "title", "must begin with TOML between two lines of"),
        ("title =", "title ", "card.md: "),
        ("title =", "headline =", "(?s)title.*Field required"),
        ('targets = ["cpu"]', 'targets = ["tpu"]', "targets"),
        ('"compute"', '"bandwidth"', "bottlenecks"),
        ("## Effect", "## Gain", "must have the sections When, Effect, Pitfalls"),
        ("## Pitfalls", "## Effect", "must have the sections"),
        ('languages = ["cpp"]', 'languages = ["triton"]', "its example is in cpp"),
        ('"AVX"]', '"AVX"]\n[sizes]\nDEPTH = 4', "has no line `DEPTH = …`"),
    ],
)
def test_a_card_of_another_shape_is_refused(card, old, new, message):
    text = (card / "card.md").read_text()
    assert old in text
    (card / "card.md").write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=message):
        read_card(card)


def test_a_folder_whose_name_is_no_name_is_refused(card):
    card = card.rename(card.with_name("SIMD reduction"))
    with pytest.raises(UsageError, match="String should match pattern"):
        read_card(card)


def test_one_kernel_twice_is_no_example(card):
    shutil.copy(card / "before.cpp", card / "after.cpp")
    with pytest.raises(UsageError, match="both kernels are the same"):
        read_card(card)


def test_kernels_in_two_languages_are_no_example(card):
    (card / "after.cpp").rename(card / "after.py")
    with pytest.raises(UsageError, match="with the same ending"):
        read_card(card)


def test_kernels_in_no_known_language_are_no_example(card):
    for side in ("before", "after"):
        (card / f"{side}.cpp").rename(card / f"{side}.rs")
    with pytest.raises(UsageError, match=r"ending must be one of \.cpp, .*\.py, \.cu, not '\.rs'"):
        read_card(card)


def test_gains_belong_to_cards(card):
    folder = card.parents[1]
    measured = folder / "measured.json"
    measured.write_text('{"a device": {"simd-reduction": [2.0, 1.5, 2.5]}}')
    (found,) = read_library(folder)
    assert [gain.payoff for gain in found.gains] == ["faster"]
    measured.write_text('{"a device": {"magic": [2.0, 1.5, 2.5]}}')
    with pytest.raises(UsageError, match="has gains of magic: there are no such cards"):
        read_library(folder)
    measured.write_text('{"a device": 3}')
    with pytest.raises(UsageError, match="must map devices to techniques"):
        read_library(folder)
