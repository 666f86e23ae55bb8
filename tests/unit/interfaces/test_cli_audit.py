"""`kernelwright audit`: what it prints, where it writes, and that it goes on where it was."""

import json

from kernelwright.testing.samples import SOURCE, sample_evaluation
from kernelwright.testing.scripted import ScriptedEvaluator

KERNEL = "class ModelNew: ...\n"
ALWAYS = ("audit", "all.jsonl", "--target", "cpu")


class Wrong(ScriptedEvaluator):
    """Finds every kernel wrong."""

    async def evaluate(self, task, candidate, effort="search"):
        self.calls.append(effort)
        return sample_evaluation("incorrect")


def published(folder, **claims):
    lines = [{"name": n, "task": SOURCE, "kernel": f"{KERNEL}# {n}\n", "claimed": c} for n, c in claims.items()]
    (folder / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))


def test_it_ends_with_the_summary_and_two_files(kernelwright, tmp_path):
    published(tmp_path, one=3.0, two="2x")
    said = kernelwright(*ALWAYS, "--quick", "--out", "found", evaluator=ScriptedEvaluator(outcomes=("measured",)))
    assert said.code == 0
    assert "of 2 published kernels 2 are right" in said.out
    assert "page found/audit.html" in said.out
    assert (tmp_path / "found" / "audit.html").is_file()
    assert json.loads((tmp_path / "found" / "audit.json").read_text())["weights"] == "constant"


def test_json_has_every_kernel_and_a_second_call_judges_none(kernelwright, tmp_path):
    published(tmp_path, one=3.0, two=2.0)
    first, again = Wrong(), Wrong()
    found = kernelwright(*ALWAYS, "--json", evaluator=first).json
    assert [kernel["reason"] for kernel in found["kernels"]] == ["incorrect: value"] * 2
    assert kernelwright(*ALWAYS, "--json", evaluator=again).json["summary"] == found["summary"]
    assert (first.calls.count("final"), again.calls.count("final")) == (2, 0)


def test_what_is_not_there_is_a_usage_error(kernelwright):
    assert kernelwright("audit", "gone.jsonl", "--target", "cpu").code == 2
