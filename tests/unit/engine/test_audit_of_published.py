"""An audit of published kernels: figures, reasons, that none stops the rest, and that nothing is judged twice."""

import asyncio
import json

import pytest

from kernelwright.engine.audit import AuditRequest, audit
from kernelwright.errors import RefereeError, TaskError, UsageError
from kernelwright.records.evaluation import Binding
from kernelwright.records.published import AuditedKernel, PublishedKernel, summarise
from kernelwright.testing.samples import SOURCE, sample_evaluation, sample_measured, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

KERNEL = "import torch\n\nclass ModelNew(torch.nn.Module): pass\n"


class Fateful(ScriptedEvaluator):
    """Does what the texts say; remembers what it was asked."""

    def __init__(self):
        super().__init__()
        self.admitted, self.judged = [], []

    async def admit(self, source, target):
        self.admitted.append(source.name)
        if "# random" in source.source:
            raise TaskError("two calls differ", "random")
        return sample_task(target)

    async def evaluate(self, task, candidate, effort="search"):
        self.judged.append(candidate.source)
        word = candidate.source.rsplit("# ", 1)[-1].strip()
        if word == "hang":
            await asyncio.sleep(60)
        if word == "crash":
            raise RefereeError("the worker process ended before it answered")
        if word.startswith("times "):
            return sample_measured(float(word.split()[1]))
        if word == "weaker":
            told = {"weights": "construction", "binding": Binding(left=("w",), constant=("packed",))}
            return sample_measured(3.0).model_copy(update=told)
        return sample_evaluation(word)


FATES = {"times 4": 8.0, "times 1": 3.0, "weaker": None, "incorrect": 2.0, "suspect": 9.0, "crash": 1.0, "hang": 1.0}


@pytest.fixture
def request_of(tmp_path):
    entries = [{"name": w, "task": SOURCE, "kernel": f"{KERNEL}# {w}\n", "claimed": c} for w, c in FATES.items()]
    entries.append({"name": "random", "task": f"{SOURCE}# random\n", "kernel": KERNEL})
    entries.append({"name": "empty", "task": SOURCE, "kernel": "  "})
    (tmp_path / "all.json").write_text(json.dumps(entries))
    return lambda **more: AuditRequest(
        tmp_path / "all.json", target="cpu", folder=tmp_path / "out", **{"limit_s": 0.3, **more}
    )


def run(request, evaluator):
    return audit(request, scripted_suppliers(evaluator))


def test_every_kernel_has_its_fate_and_the_sentence_counts_them(request_of):
    found = run(request_of(), Fateful()).audit
    assert {k.published.name: k.reason for k in found.kernels} == {
        "times 4": "",
        "times 1": "",
        "weaker": "",
        "incorrect": "incorrect: value",
        "suspect": "suspect: below_floor",
        "crash": "not judged",
        "hang": "not judged",
        "random": "task: random",
        "empty": "nothing to judge",
    }
    summary = found.summary
    assert (summary.right, summary.faster_than_eager, summary.faster_than_compile, summary.weaker) == (3, 2, 2, 1)
    assert summary.claimed == pytest.approx((8 * 3) ** 0.5)
    assert summary.measured == pytest.approx(2.0)
    assert summary.sentence == (
        "of 9 published kernels 3 are right, 2 faster than eager, 2 faster than torch.compile; "
        "geometric mean claimed 4.90, measured 2.00 (2 kernels)"
    )
    assert summary.reasons["not judged"] == 2


def test_a_task_is_admitted_once_for_all_of_its_kernels(request_of):
    evaluator = Fateful()
    run(request_of(), evaluator)
    assert len(evaluator.admitted) == 2


def test_what_was_judged_is_not_judged_again_but_what_broke_is(request_of):
    first, again = Fateful(), Fateful()
    before = run(request_of(), first).audit
    after = run(request_of(), again).audit
    assert sorted(source.rsplit("# ", 1)[1].strip() for source in again.judged) == ["crash", "hang"]
    assert [k.reason for k in after.kernels] == [k.reason for k in before.kernels]
    anew = Fateful()
    run(request_of(fresh=True), anew)
    assert len(anew.judged) == len(first.judged)


def test_page_and_json_show_evidence_for_every_kernel(request_of):
    found = run(request_of(), Fateful())
    page = found.page.read_text()
    assert page.count('<details class="attempt">') == len(found.audit.kernels)
    for words in (
        "claimed",
        "expected 1.5, got -1.5",
        "not held: w",
        "class ModelNew",
        "two calls differ",
        'href="#k4"',
    ):
        assert words in page
    assert json.loads(found.json.read_text())["summary"]["published"] == 9


def test_hostile_names_do_not_become_markup(request_of, tmp_path):
    hostile = "<script>alert(1)</script>"
    entry = {"name": hostile, "task": SOURCE, "kernel": f"{KERNEL}# times 2\n", "claimed": 2}
    (tmp_path / "all.json").write_text(json.dumps([entry]))
    assert "<script" not in run(request_of(), Fateful()).page.read_text()


def test_a_folder_without_kernels_is_no_audit(request_of, tmp_path):
    entries = [{"name": name, "task": "x = 1\n", "kernel": KERNEL} for name in ("a", "b")]
    (tmp_path / "all.json").write_text(json.dumps(entries))
    with pytest.raises(UsageError, match="nothing there is a published kernel beside its task"):
        run(request_of(), Fateful())


def test_an_audit_of_nothing_measured_has_no_mean():
    blank = PublishedKernel(name="x", origin="x", reference="", kernel="", missing="gone")
    summary = summarise((AuditedKernel(key="k", published=blank, reason="nothing to judge"),))
    assert (summary.claimed, summary.measured) == (None, None)
    assert "geometric" not in summary.sentence
