"""A pass over cheats and honest kernels in parts, one for each GPU of a host, and put together again."""

import importlib
import json
from argparse import Namespace
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"
WHERE = {"device": "one GPU", "versions": {"torch": "2"}, "commit": "abc", "date": "today"}


@pytest.fixture
def attacks(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("attacks")


@pytest.fixture
def one_pass(attacks):
    """A pass over the kernels for a GPU, with these options."""

    def made(out, **options):
        given = {"times": 2, "beside_busy": False, "target": "cuda", "only": "", "part": "1/1", "seconds": 0.0}
        return attacks.Pass(Namespace(out=str(out), **{**given, **options}))

    return made


def test_every_kernel_is_in_one_part_with_all_others_of_its_task(one_pass, tmp_path):
    whole = one_pass(tmp_path / "rows").chosen
    parts = [one_pass(tmp_path / "rows", part=f"{k}/3").chosen for k in (1, 2, 3)]
    assert sorted(k.name for part in parts for k in part) == sorted(k.name for k in whole)
    tasks = [{kernel.task.source for kernel in part} for part in parts]
    assert sum(map(len, tasks)) == len(set().union(*tasks))


@pytest.mark.parametrize("right", [True, False])
def test_parts_are_put_together_without_a_device(attacks, one_pass, tmp_path, right):
    rows = []
    for k in (1, 2):
        chosen = one_pass(tmp_path / "none", part=f"{k}/2").chosen
        mine = [
            {"kernel": c.name, "key": c.key, "beside": False, "device": "one GPU", "outcome": "x", "as_it_must": right}
            for c in chosen
        ]
        rows += mine
        (tmp_path / f"{k}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in mine))
        (tmp_path / f"{k}.json").write_text(json.dumps({**WHERE, "rows": []}))
    one = one_pass(tmp_path / "all.jsonl", times=1)
    one.join([tmp_path / "1.jsonl", tmp_path / "2.jsonl"])
    told = attacks.summary(one)
    assert (told["cheats_left"], told["honest_left"]) == (0, 0)
    assert told["cheats_that_hold"] == (told["cheats"] if right else 0)
    attacks._summed(one)
    written = json.loads((tmp_path / "all.json").read_text())
    assert {name: written[name] for name in WHERE} == WHERE
    assert len(written["rows"]) == len(rows) > 100
