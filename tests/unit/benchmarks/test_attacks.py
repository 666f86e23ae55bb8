"""A pass over cheats and honest kernels: in parts, one for each GPU of a host, and put together again."""

import importlib
import json
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"
WHERE = {"device": "one GPU", "versions": {"torch": "2", "triton": "3"}, "commit": "abc", "date": "today"}


@pytest.fixture
def one_pass(monkeypatch, tmp_path):
    """A pass over the kernels for a GPU, with these options."""
    monkeypatch.syspath_prepend(str(BENCH))
    attacks = importlib.import_module("attacks")

    def made(name, *options):
        one = attacks.opened(["--target", "cuda", "--times", "2", "--out", str(tmp_path / name), *options])
        if not one.campaign.asked.join:
            one.campaign.begin({**WHERE, "beside_busy": False, "effort": "search"})
        return one

    return made


def test_every_kernel_is_in_one_part_with_all_others_of_its_task(one_pass):
    whole = one_pass("rows").chosen
    parts = [one_pass("rows", "--part", f"{k}/3").chosen for k in (1, 2, 3)]
    assert sorted(k.name for part in parts for k in part) == sorted(k.name for k in whole)
    tasks = [{kernel.task.source for kernel in part} for part in parts]
    assert sum(map(len, tasks)) == len(set().union(*tasks))


def test_honest_kernels_alone_are_verified(one_pass):
    chosen = one_pass("rows", "--effort", "verify").chosen
    assert chosen
    assert not any(kernel.cheat for kernel in chosen)


@pytest.mark.parametrize("right", [True, False])
def test_parts_are_put_together_without_a_device(one_pass, tmp_path, right):
    for part in ("1", "2"):
        one = one_pass(f"{part}.json", "--part", f"{part}/2")
        for kernel in one.chosen:
            one.add(kernel, {"outcome": "x", "why": "it is", "as_it_must": right, "seconds": 1.0})
        assert max(map(one.left, one.chosen)) == 1
    files = [str(tmp_path / f"{part}.json") for part in ("1", "2")]
    one = one_pass("all.json", "--times", "1", "--join", *files)
    one.campaign.run(one.measure)
    written = json.loads((tmp_path / "all.json").read_text())
    assert (written["cheats_left"], written["honest_left"]) == (0, 0)
    assert written["cheats_that_hold"] == (written["cheats"] if right else 0)
    assert {name: written[name] for name in WHERE} == WHERE
    raw = (tmp_path / "all.raw.jsonl").read_text().splitlines()
    assert len(written["rows"]) == len(raw) == len(one.chosen) > 100


def test_a_fault_of_the_machine_is_no_judgement_unless_it_comes_again_and_again(one_pass):
    one = one_pass("rows")
    kernel = one.chosen[0]
    for lost in range(1, 6):
        one.add(kernel, {"outcome": "broken", "why": "", "as_it_must": False, "seconds": 0.0})
        assert one.left(kernel) == (2 if lost < 5 else 0)
