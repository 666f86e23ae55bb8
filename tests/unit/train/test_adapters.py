"""Adapters translate the environment's steps and hold no logic of their own."""

import ast
import asyncio
import json

import pytest
from pyarrow import parquet

from kernelwright.records.candidate import Candidate
from kernelwright.testing.samples import sample_evaluation, sample_task
from kernelwright.train.adapters import trl, verl
from kernelwright.train.data.sample import FILE, Judged, read_samples, sample
from kernelwright.train.environment import Assignment, Environment, Settings

REPLY = '```cpp\nextern "C" void kernel(const float* x, float* out) {}\n```'


class Says:
    """Right, then unknown."""

    def __init__(self):
        self.left = [sample_evaluation("measured", 2.0), None]

    async def judge(self, task, candidate, effort="search"):
        return self.left.pop(0)


@pytest.fixture
def environment():
    tasks = [Assignment(task=sample_task()), Assignment(task=sample_task(), split="heldout")]
    return Environment(tasks, Says(), Settings(reward="kevin"))


def test_trl_gets_rows_and_a_reward_function_that_says_none_for_what_is_unknown(environment):
    (row,) = trl.rows(environment)
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    logged = []
    asked = trl.reward_function(environment)(
        completions=[[{"role": "assistant", "content": REPLY}], REPLY],
        split=["train", "heldout"],
        index=[0, 0],
        log_metric=lambda name, value: logged.append((name, value)),
    )
    assert asyncio.run(asked) == [pytest.approx(2.3), None]
    assert logged == [("right", 1.0)]


def test_verl_gets_parquet_a_score_and_the_samples(tmp_path):
    kernel = Candidate(language="cpp", source="// kernel", entry="kernel")
    made = sample("author", sample_task(), kernel, Judged(outcome="verified"))
    (tmp_path / FILE).write_text(made.model_dump_json() + "\n")
    files = list(verl.export(tmp_path, tmp_path / "out", Settings(reward="kevin")))
    assert [file.name for file in files] == [
        "train.parquet", "samples.jsonl", "compute_score.py", "grpo.yaml",
    ]  # fmt: skip
    (row,) = parquet.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert row["extra_info"] == {"split": "train", "index": 0}
    assert read_samples(tmp_path / "out" / "samples") == [made]
    ast.parse((tmp_path / "out" / "compute_score.py").read_text())


def test_a_sample_is_read_back_as_it_was_written():
    kernel = Candidate(language="cpp", source="// kernel", entry="kernel")
    made = sample("author", sample_task(), kernel, Judged(outcome="verified"))
    assert type(made).model_validate(json.loads(made.model_dump_json())) == made
    assert made.split in {"train", "heldout"}
