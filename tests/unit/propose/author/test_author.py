"""The author as a proposer: deterministic, stateless, in the right language, listed in the table."""

import asyncio
from pathlib import Path

import pytest
from author_cases import HEADER, build, call, case, error, model

from kernelwright.errors import ProposeError
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import cpp_default, triton_default
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.propose.author.search.designs import DESIGNS
from kernelwright.propose.proposer import Brief, RunFacts
from kernelwright.propose.table import PROPOSERS
from kernelwright.records.attempt import Attempt, Cost, ProposalRequest
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.feedback import Feedback

EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*.py"))


def propose(task, seed=0, history=(), feedback=(), tried=(), **proposal_request):
    wanted = ProposalRequest(**{"number": 0, "intent": "seed"} | proposal_request)
    brief = Brief(task, wanted, tuple(history), tuple(feedback), seed, run=RunFacts(tried=frozenset(tried)))
    return asyncio.run(Author().propose(brief))


def attempt(proposal, number=0):
    return Attempt(
        number=number, proposal_request=ProposalRequest(number=number, intent="seed"), proposal=proposal,
        evaluation=BuildFailed(log=""), cost=Cost(),
    )  # fmt: skip


def test_the_table_lists_it():
    assert isinstance(PROPOSERS["author"](), Author)


def test_the_same_brief_gives_the_same_proposals(softmax):
    assert propose(softmax.task, seed=7, count=3) == propose(softmax.task, seed=7, count=3)
    assert len({p.candidate.id for p in propose(softmax.task, seed=7, count=4)}) == 4
    assert len({propose(softmax.task, seed=s, number=1)[0].candidate.id for s in range(8)}) >= 7


def test_it_writes_triton_for_cuda():
    found = case(model("torch.softmax(x, -1)", "torch.randn(5, 33)"), "softmax", "cuda")
    (proposal,) = propose(found.task)
    assert (proposal.candidate.language, proposal.candidate.entry) == ("triton", "ModelNew")


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_a_run_begins_with_the_default_and_goes_on_with_others(kind):
    found = case(model("torch.softmax(x, -1)", "torch.randn(5, 3300)"), "softmax", kind)
    plan = lower(found.task)
    first = {p.candidate.id for s in range(4) for p in propose(found.task, seed=s)}
    gpu = kind == "cuda"
    default = write_triton(found.task, plan, triton_default(plan)) if gpu else write_cpp(plan, cpp_default(plan))
    assert first == {default.id}
    later = {p.candidate.id for s in range(8) for p in propose(found.task, seed=s, number=1)}
    assert len(later) >= 6
    assert not later & first


@pytest.mark.parametrize("intent", ["improve", "repair", "apply-technique"])
def test_every_intent_answers_with_one_change_and_says_which(softmax, intent):
    (first,) = propose(softmax.task)
    words = Feedback(attempt=0, words="SUCCESS", works=True, speedup_eager=1.5, bottleneck="memory")
    hint = "streaming-stores" if intent == "apply-technique" else ""
    (child,) = propose(softmax.task, 3, [attempt(first)], [words], intent=intent, parents=(0,), hint=hint)
    assert child.note
    assert child.memo != first.memo
    if hint:
        assert "stores=streaming" in child.note
        assert "fast::stream(" in child.candidate.source


def test_a_chain_without_feedback_keeps_moving(softmax):
    (proposal,) = propose(softmax.task)
    seen = {proposal.candidate.id}
    for seed in range(6):
        (proposal,) = propose(softmax.task, seed, [attempt(proposal)], intent="improve", parents=(0,))
        seen.add(proposal.candidate.id)
    assert len(seen) >= 5


def test_a_kernel_that_the_run_has_tried_is_not_proposed_again(softmax):
    (first,) = propose(softmax.task)
    words = [Feedback(attempt=0, words="SUCCESS", works=True, speedup_eager=1.5)]
    tried = {first.candidate.kernel_id}
    for seed in range(6):
        (child,) = propose(softmax.task, seed, [attempt(first)], words, tried, intent="improve", parents=(0,), number=1)
        assert child.candidate.kernel_id not in tried
        tried.add(child.candidate.kernel_id)


def test_what_changes_only_the_compiler_s_flags_is_another_kernel(softmax):
    (first,) = propose(softmax.task)
    words = [Feedback(attempt=0, words="SUCCESS", works=True, speedup_eager=1.5)]
    tried, made = {first.candidate.kernel_id}, []
    for number in range(1, 24):
        asked = {"intent": "improve", "parents": (0,), "number": number}
        made += propose(softmax.task, number, [attempt(first)], words, tried, **asked)
        tried.add(made[-1].candidate.kernel_id)
    assert len(tried) == 24
    assert any(one.candidate.source == first.candidate.source for one in made)


def test_what_cannot_be_written_raises():
    found = case(model("torch.linalg.inv(x)", "torch.randn(4, 4)"))
    with pytest.raises(ProposeError, match=r"aten\.linalg_inv"):
        propose(found.task)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_is_written_right_in_both_languages(path, tmp_path):
    text = path.read_text()
    for long, short in (("4096", "260"), ("2048", "130"), ("8192", "300")):
        text = text.replace(long, short)
    found = case(text, path.stem)
    plan = lower(found.task)
    (entry,) = build([write_cpp(plan, cpp_default(plan))], tmp_path)
    for got, wanted in zip(call(entry, found), found.reference(), strict=True):
        assert error(got, wanted) < 1.5e-6
    compile(write_triton(found.task, plan, triton_default(plan)).source, path.stem, "exec")


def test_there_are_six_examples():
    assert len(EXAMPLES) == 6


def test_a_costly_element_that_two_passes_need_is_computed_once():
    """Twice it costs twice, and g++ may fuse a product into one of the two differences: then e^0 is not 1."""
    inputs = "torch.randn(2, 16, 8), torch.randn(2, 8, 16)"
    text = model("torch.softmax(x[..., 0:1] * y[:, 0:1] * 0.3 + x @ y, -1)", inputs, arguments="x, y")
    task = case(text, "scores", "cpu").task
    design = DESIGNS["cpp"](task)
    source = design.write(design.default).source
    assert source.count("= fast::exp(") == 1
    assert "kept[p] / row_sum" in source


BITS = """\
class Model(nn.Module):
    def forward(self, a, b):
        return {result}


def get_inputs():
    return [torch.randint(0, 1000, (256, 100), dtype=torch.int32) for _ in range(2)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("torch.gcd(torch.lcm(a, b), a), torch.gcd(a, b).clamp(0, 100)", ""),
        (
            "torch.gcd(torch.lcm(a, b), b), (a + b).abs() * 3 - b * (a - b).clamp(0, 100)",
            "lcm.default, aten.gcd.default stay",
        ),
        ("torch.gcd(a, b), (a + b).abs() * 3 - b", "gcd.default stays"),
    ],
)
def test_a_gpu_is_named_where_most_of_the_task_gets_a_kernel_there(result, words):
    task = case(HEADER + BITS.format(result=result)).task
    nodes = tuple(node.model_copy(update={"bytes": 100_000}) for node in task.graph.nodes)
    with pytest.raises(ProposeError) as raised:
        Author().refuse(task.model_copy(update={"graph": task.graph.model_copy(update={"nodes": nodes})}), None)
    assert ("--target sm_90" in str(raised.value)) == bool(words)
    assert words in str(raised.value)
