"""Receipts on this machine, with a real referee: written, replayed with the same seeds, and refused when they lie."""

import asyncio
import json

import pytest
from bad_input import AFFINE, CPU, GOOD, QUICK

from kernelwright.api import CheckRequest, VerifyRequest, check, verify
from kernelwright.errors import ReceiptError
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Incorrect, Measured
from kernelwright.records.receipt import Receipt, content_hash
from kernelwright.records.task import TaskSource
from kernelwright.store.receipt_file import read_receipt

POLICY = QUICK.model_copy(update={"final_blocks": 4})
WRONG = GOOD.replace("+ 1", "+ 1.01f")
HANGS = 'extern "C" void kernel(const float* x, float* out) { for (volatile int i = 1; i;) {} }'


@pytest.fixture
def verified(warm_referee):
    return lambda request: verify(request, warm_referee.suppliers())


@pytest.fixture(scope="module")
def judged_once(tmp_path_factory, warm_referee):
    """The text of the receipt of a kernel on the affine task, judged at most once."""
    folder, texts = tmp_path_factory.mktemp("judged"), {}
    (folder / "affine.py").write_text(AFFINE)

    def judge(source, effort):
        if (source, effort) not in texts:
            kernel, receipt = folder / "kernel.cpp", folder / "receipt.json"
            kernel.write_text(source)
            request = CheckRequest(folder / "affine.py", kernel, "cpu", policy=POLICY, effort=effort, receipt=receipt)
            check(request, warm_referee.suppliers())
            texts[source, effort] = receipt.read_text()
        return texts[source, effort]

    return judge


@pytest.fixture
def judged(judged_once, tmp_path):
    """The file of such a receipt, for this test alone, with its task beside it."""
    (tmp_path / "affine.py").write_text(AFFINE)

    def judge(source, effort="final"):
        file = tmp_path / "receipt.json"
        file.write_text(judged_once(source, effort))
        return file

    return judge


def test_a_right_kernel_s_receipt_holds_with_every_accuracy_figure_the_same(judged, tmp_path):
    file = judged(GOOD)
    claim = read_receipt(file).claim
    assert isinstance(claim.evaluation, Measured)
    assert claim.evaluation.tier == 2
    assert len(claim.evaluation.seeds) > POLICY.seeds
    assert claim.environment.isolation
    # By a worker of its own, which knows nothing of the one that judged.
    found = verify(VerifyRequest(file, task=tmp_path / "affine.py", save=tmp_path / "mine.json"))
    accuracy = next(f for f in found.comparison.findings if f.what == "accuracy")
    assert "every figure the same" in accuracy.now
    assert found.comparison.findings[0].holds
    assert found.comparison.changed == ()
    mine = read_receipt(tmp_path / "mine.json").claim
    assert mine.task.id == claim.task.id
    assert set(mine.evaluation.seeds).isdisjoint(claim.evaluation.seeds), "a final has seeds of its own"


def test_a_wrong_kernel_s_receipt_holds_as_well(judged, verified):
    file = judged(WRONG)
    assert isinstance(read_receipt(file).claim.evaluation, Incorrect)
    found = verified(VerifyRequest(file))
    assert found.exit_code == 0
    assert [f.holds for f in found.comparison.findings] == [True, True]


def test_a_forged_receipt_with_a_new_hash_does_not_hold(judged, verified):
    file = judged(GOOD)
    document = json.loads(file.read_text())
    document["claim"]["candidate"]["source"] = WRONG
    document["seal"] = ""  # as a stranger's, who cannot seal it anew
    document["hash"] = content_hash(document)
    file.write_text(json.dumps(document))
    found = verified(VerifyRequest(file))
    assert found.exit_code == 9
    assert [f.holds for f in found.comparison.findings[:2]] == [False, False]


def test_a_forged_speedup_with_a_new_hash_does_not_hold(judged, verified):
    """Its interval is so wide that it overlaps with any that is measured."""
    file = judged(GOOD)
    document = json.loads(file.read_text())
    for versus in document["claim"]["evaluation"]["timing"]["versus"]:
        versus["speedup"].update(median=5000.0, low=1.02, high=100_000.0)
        versus["verdict"] = "faster"
    document["seal"] = ""  # as a stranger's, who cannot seal it anew
    document["hash"] = content_hash(document)
    file.write_text(json.dumps(document))
    found = verified(VerifyRequest(file))
    assert found.exit_code == 9
    forged = [f for f in found.comparison.findings if f.what.startswith("speedup")]
    assert forged
    assert all(f.holds is False and f.now.startswith("the samples that are recorded with it say") for f in forged)
    assert all(f.holds for f in found.comparison.findings if f not in forged)


@pytest.mark.matrix
def test_a_receipt_about_another_task_is_refused(judged, tmp_path, verified):
    file = judged(GOOD, "search")
    (tmp_path / "other.py").write_text(AFFINE.replace("* 3", "* 4"))
    with pytest.raises(ReceiptError, match="about another task"):
        verified(VerifyRequest(file, task=tmp_path / "other.py"))


def test_a_search_s_receipt_has_no_seeds_and_is_measured_all_the_same(judged, verified):
    file = judged(GOOD, "search")
    assert read_receipt(file).claim.evaluation.seeds == ()
    found = verified(VerifyRequest(file))
    assert next(f for f in found.comparison.findings if f.what == "accuracy").holds is None
    assert isinstance(found.comparison.evaluation, Measured)


def test_a_hostile_candidate_in_a_receipt_costs_its_time_limits_and_no_more(judged, verified):
    document = json.loads(judged(GOOD).read_text())
    document["claim"]["candidate"]["source"] = HANGS
    document["claim"]["policy"]["run_limit_s"] = 1.0
    receipt = Receipt.model_validate(document)
    file = judged(GOOD)
    file.write_text(Receipt.sealed("now", receipt.claim).model_dump_json())
    found = verified(VerifyRequest(file))
    assert found.exit_code == 9
    assert found.comparison.findings[0].now == "timed_out"


def test_a_task_that_cannot_be_judged_any_more_does_not_hold(judged, verified):
    receipt = read_receipt(judged(GOOD, "search"))
    task = receipt.claim.task
    broken = task.model_copy(update={"source": task.source.model_copy(update={"source": "raise ValueError"})})
    file = judged(GOOD, "search")
    file.write_text(Receipt.sealed("now", receipt.claim.model_copy(update={"task": broken})).model_dump_json())
    found = verified(VerifyRequest(file))
    assert found.exit_code == 9
    assert "raised" in found.comparison.findings[0].now
    assert found.comparison.evaluation is None


@pytest.mark.matrix
def test_revealed_seeds_judge_nobody_else(warm_referee):
    """After a final, a search in the same worker meets inputs that were drawn anew; its own seeds stay secret."""

    async def play():
        referee = warm_referee.under(POLICY)
        task = await referee.admit(TaskSource(name="affine", format="kernelbench", source=AFFINE), CPU)
        good = Candidate(language="cpp", source=GOOD, entry="kernel")
        final = await referee.evaluate(task, good, "final")
        search = await referee.evaluate(task, good)
        replay = await referee.replay(task, good, final.seeds)
        after = await referee.evaluate(task, good)
        another = await referee.evaluate(task, good)
        return final, search, replay, after, another

    final, search, replay, after, another = asyncio.run(play())
    assert final.seeds
    assert replay.seeds == final.seeds
    assert search.seeds == after.seeds == ()
    assert replay.accuracy == final.accuracy
    assert search.accuracy != final.accuracy
    assert after.accuracy != final.accuracy
    assert another.accuracy == after.accuracy, "a search's inputs are drawn once for all candidates"
