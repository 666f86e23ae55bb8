"""Data sets: collected, continued, taken from runs, judged again, and described."""

import pytest

from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import UsageError
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Verified
from kernelwright.records.run import Message
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import ACCURACY, BUILD, sample_attempt, sample_card, sample_evaluation, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.testing.scripted_chat import ScriptedModel
from kernelwright.train.data import making
from kernelwright.train.data.collect import Pair
from kernelwright.train.data.making import DataRequest, make_data, revalidate
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.prompts import judge_rows
from kernelwright.train.data.sample import FILE, Judged, read_samples, sample


class Judge(ScriptedEvaluator):
    """Right is what says so; what leans on a private part of PyTorch does not build."""

    async def evaluate(self, task, candidate, effort="search"):
        self.calls.append(candidate.id)
        if "wrong" in candidate.source:
            return sample_evaluation("incorrect")
        if "_inductor" in candidate.source:
            return sample_evaluation("build_failed")
        return Verified(build=BUILD, accuracy=ACCURACY, how="by the script")


@pytest.fixture
def judge():
    return Judge()


def suppliers(judge):
    return Suppliers(evaluator=lambda policy, place, note: judge)


def pair(number, text):
    async def written(task):
        return Candidate(language="triton", source=f"# {text} {number}\n")

    return Pair("author", random_module(number), written)


def test_what_is_right_is_kept_and_a_second_call_goes_on(tmp_path, judge, monkeypatch):
    pairs = [pair(0, "right"), pair(1, "wrong"), pair(2, "right"), pair(3, "right")]
    monkeypatch.setattr(making, "authored", lambda modules: iter(pairs))
    request = DataRequest(tmp_path / "set", count=2, target="cpu")
    heard = []
    first = make_data(request, suppliers(judge), heard.append)
    assert (first.samples, first.added) == (2, 2)
    assert first.fates["incorrect"] == 1
    again = make_data(DataRequest(tmp_path / "set", count=3, target="cpu"), suppliers(judge), heard.append)
    assert (again.samples, again.added) == (3, 1)
    assert heard[-1].kept == 3
    told = (tmp_path / "set" / "card.md").read_text()
    assert "3 pairs" in told
    assert "Every pair passed the referee" in told


def test_a_run_gives_its_right_kernels_with_their_measured_parents(tmp_path, judge, monkeypatch):
    RunStore.create(tmp_path / "run", sample_card(sample_task())).close()
    attempts = []
    for number, outcome in enumerate(("measured", "incorrect", "measured")):
        made = sample_attempt(number, outcome)
        request = made.proposal_request.model_copy(update={"parents": (0,) if number else ()})
        candidate = made.proposal.candidate.model_copy(update={"source": f"// {number}"})
        proposal = made.proposal.model_copy(update={"candidate": candidate})
        attempts.append(made.model_copy(update={"proposal_request": request, "proposal": proposal}))
    monkeypatch.setattr(RunStore, "attempts", lambda _: attempts)
    request = DataRequest(tmp_path / "set", sources=(str(tmp_path / "run"),), target="cpu")
    assert make_data(request, suppliers(judge), lambda _: None).added == 2
    seed, child = read_samples(tmp_path / "set")
    assert (seed.parent, child.parent.number) == (None, 0)
    assert child.judged.eager == 2.0
    assert not judge.calls


ADVICE = (
    '{"metrics": ["dram"], "bottleneck": "memory: two passes", "method": "fusion", "plan": "keep the row in registers"}'
)


def test_a_judge_learns_from_what_led_to_gains_in_any_run_below_a_folder(tmp_path, judge, monkeypatch):
    for name in ("a", "deep/er"):
        RunStore.create(tmp_path / "runs" / name, sample_card(sample_task())).close()
    seed, child = sample_attempt(0, "measured"), sample_attempt(1, "measured")
    request = child.proposal_request.model_copy(update={"parents": (0,), "number": 7})
    faster = child.proposal.candidate.model_copy(update={"source": "// faster"})
    proposal = child.proposal.model_copy(update={"candidate": faster, "memo": '{"sibling": 1}'})
    child = child.model_copy(update={"proposal_request": request, "proposal": proposal})
    said = [
        Message(number=n, proposal_request=7, sibling=sibling, role="judge", kind="diagnosis", text=text)
        for n, (sibling, text) in enumerate(((0, "No usable advice: it was empty."), (1, ADVICE)))
    ]
    monkeypatch.setattr(RunStore, "attempts", lambda _: [seed, child])
    monkeypatch.setattr(RunStore, "messages", lambda _: said)
    report = make_data(
        DataRequest(tmp_path / "set", sources=(str(tmp_path / "runs"),), target="cpu"), suppliers(judge), lambda _: None
    )
    assert report.added == 2
    assert "judge's diagnosis of it | 1 |" in (tmp_path / "set" / "card.md").read_text()
    ((prompt, reply),) = judge_rows(read_samples(tmp_path / "set"), least_gain=1.0)
    assert "hardware" in prompt[0].text.lower() + prompt[1].text.lower()
    assert "keep the row in registers" in reply
    assert '"fusion"' in reply
    assert not list(judge_rows(read_samples(tmp_path / "set"), least_gain=1.05))


def test_what_an_upgrade_broke_is_repaired_or_dropped_and_the_share_is_told(tmp_path, judge):
    folder = tmp_path / "set"
    folder.mkdir()
    old = "from torch._inductor.runtime.triton_heuristics import grid\nimport triton\n"
    texts = ("# right\n", old, "# wrong\n")
    made = [
        sample("author", sample_task(), Candidate(language="triton", source=text), Judged(outcome="verified"))
        for text in texts
    ]
    (folder / FILE).write_text("".join(f"{one.model_dump_json()}\n" for one in made))
    found = revalidate(DataRequest(folder, target="cpu"), suppliers(judge), lambda done, of: None)
    assert (found.right, found.repaired, found.dropped) == (1, 1, {"incorrect": 1})
    assert found.broken_share == pytest.approx(2 / 3)
    kept = read_samples(folder)
    assert [one.migrated for one in kept] == [(), ("triton_heuristics.grid",)]


def test_a_model_s_right_kernels_are_data_for_rejection_sampling(tmp_path, judge):
    task = sample_task()
    known = sample(
        "author", task, Candidate(language="cpp", source="// known", entry="kernel"), Judged(outcome="verified")
    )
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / FILE).write_text(known.model_dump_json() + "\n")
    assert known.split == "train"
    text = '```cpp\n// {}\nextern "C" void kernel(const float* x, float* out) {{}}\n```'
    model = ScriptedModel(answer=lambda request: ("none", text.format("right"), text.format("wrong"))[request.seed])
    parts = Suppliers(evaluator=lambda policy, place, note: judge, model=lambda config: model)
    request = DataRequest(tmp_path / "own", ("openai:policy",), tasks=tmp_path / "tasks", each=3, target="cpu")
    found = make_data(request, parts, lambda _: None)
    assert (found.added, found.fates) == (1, {"unwritten": 1, "incorrect": 1})
    (made,) = read_samples(tmp_path / "own")
    assert (made.origin, "// right" in made.candidate.source) == ("model", True)
    assert "Write a kernel that is surely right" in model.requests[0].messages[1].text
    assert model.closed
    with pytest.raises(UsageError, match="name one with --data"):
        make_data(DataRequest(tmp_path / "x", ("openai:policy",), target="cpu"), parts, lambda _: None)


def test_what_is_no_source_is_named(tmp_path, judge):
    with pytest.raises(UsageError, match="neither `author`, `compile`, a run's folder nor a file"):
        make_data(DataRequest(tmp_path, sources=("nonsense",), target="cpu"), suppliers(judge), lambda _: None)
    with pytest.raises(UsageError, match="holds no samples"):
        revalidate(DataRequest(tmp_path, target="cpu"), suppliers(judge), lambda done, of: None)
