"""The role that chooses among the steps of a graph: what it is shown, which answers count, and who stands in."""

import asyncio
from dataclasses import replace

import pytest

from kernelwright.propose.graph_writer import GraphWriter
from kernelwright.propose.llm.graph import choose_step, technique_named, with_step
from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.sections import Facts, values
from kernelwright.propose.llm.writer import CODE
from kernelwright.propose.proposer import BareGateway, Brief, NoRoom
from kernelwright.records.attempt import ProposalRequest, WorkedStep
from kernelwright.records.chat import ChatReply
from kernelwright.tasks.table import read_task
from kernelwright.testing.samples import sample_task

NAMES = ["loop-unrolling", "simd-reduction", "cache-blocking"]


class Answers(BareGateway):
    """Says one thing to whoever asks."""

    def __init__(self, text):
        self.text, self.asked, self.notes = text, [], []

    async def ask(self, role, request, sibling=0):
        self.asked.append((role, request))
        if self.text is None:
            raise NoRoom
        return ChatReply(text=self.text, model="m")

    def note(self, role, text, sibling=0):
        self.notes.append(text)


def step(name, before="old\n", after="new\n"):
    return WorkedStep(
        technique=name, think=f"why {name}", language="cpp", before=before, after=after, effect="faster: 2.00"
    )


def brief(gateway, *steps, adviser="navigator"):
    task = sample_task()
    task = task.model_copy(update={"source": task.source.model_copy(update={"serial": "old\n"})})
    request = ProposalRequest(
        number=0, intent="apply-technique", adviser=adviser, steps=steps, hint="" if adviser else "x"
    )
    return Brief(task, request, (), (), 0, "cpp", gateway)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"technique": "simd-reduction"}', "simd-reduction"),
        ('I think.\n```json\n{"technique": "cache-blocking"}\n```', "cache-blocking"),
        ("Not loop-unrolling, take simd-reduction.", "simd-reduction"),
        ('{"technique": "magic"} or {"technique": "loop-unrolling"}', "loop-unrolling"),
        ('{"technique": "magic"}', ""),
        ("", ""),
        ("{broken", ""),
    ],
)
def test_which_technique_an_answer_names(text, name):
    assert technique_named(text, NAMES) == name


def test_the_model_sees_every_step_and_its_choice_is_taken():
    gateway = Answers('{"technique": "cache-blocking"}')
    found = asyncio.run(choose_step(brief(gateway, *map(step, NAMES))))
    assert found.technique == "cache-blocking"
    ((role, request),) = gateway.asked
    shown = request.messages[-1].text
    assert role == "navigator"
    assert all(f"`{name}`: why {name} Elsewhere: faster: 2.00." in shown for name in NAMES)
    assert gateway.notes == ["takes cache-blocking"]


@pytest.mark.parametrize("text", ["nonsense", None])
def test_the_first_step_stands_in_for_a_useless_answer_and_for_an_empty_purse(text):
    assert asyncio.run(choose_step(brief(Answers(text), *map(step, NAMES)))).technique == NAMES[0]


C_CODE = """/* kernelwright
[sizes]
n = 64
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
a = { value = 2.5 }
*/
void scaled(const float *x, float *out, float a, int n) { for (int i = 0; i < n; i++) out[i] = a * x[i]; }
"""


def serial_brief(tmp_path, gateway, *steps, **changed):
    """A step of a walk over serial code that nobody has ported yet."""
    (tmp_path / "scaled.c").write_text(C_CODE)
    made = brief(gateway, *steps, **changed)
    return replace(made, task=made.task.model_copy(update={"source": read_task(tmp_path / "scaled.c")}))


def test_a_first_step_shows_the_c_function_as_the_candidate_once_and_never_as_pytorch(tmp_path):
    code = C_CODE.split("*/\n")[1]
    port = WorkedStep(technique="threads-over-rows", think="why", language="cpp", before=code, after="kernel code\n")
    facts = Facts(with_step(serial_brief(tmp_path, Answers(""), port), port), "cpp")
    shown = Prompts().render("coder-apply-technique", values(facts, CODE)).user
    candidate = shown.partition("## Candidate")[2].partition("\n## ")[0]
    assert code.strip() in candidate
    assert "```c\n" in candidate
    assert "n = 64" in shown
    assert "a = 2.5" in shown
    assert "as PyTorch" not in shown
    assert "On this very code" in shown
    assert "kernel code" in shown


def test_the_outputs_of_serial_code_have_its_names_and_whole_numbers_are_to_be_equal(tmp_path):
    made = serial_brief(tmp_path, Answers(""))
    both = 'out = { shape = ["n"], inout = true }'
    code = C_CODE.replace('out = { shape = ["n"] }', both)
    assert both in code
    (tmp_path / "scaled.c").write_text(code)
    task = made.task.model_copy(update={"source": read_task(tmp_path / "scaled.c")})
    whole = tuple(spec.model_copy(update={"dtype": "int32"}) for spec in task.workload.outputs)
    task = task.model_copy(update={"workload": task.workload.model_copy(update={"outputs": whole})})
    shown = Prompts().render("coder-apply-technique", values(Facts(replace(made, task=task), "cpp"), CODE)).user
    assert "`output0` and so on are `out` (which begins as the input of that name)" in shown
    assert "; equal, but for what rounding decides in the reference itself" in shown
    assert "times the reference's own" not in shown


def test_a_technique_that_nobody_worked_out_here_comes_with_its_card(tmp_path):
    bare = WorkedStep(technique="thread-per-element", think="", language="cuda", before="", after="")
    facts = Facts(with_step(serial_brief(tmp_path, Answers(""), bare), bare), "cuda")
    shown = Prompts().render("coder-apply-technique", values(facts, CODE)).user
    assert "Apply this one: `thread-per-element`" in shown
    assert "Pitfalls" in shown or "pitfalls" in shown
    assert "Before:" not in shown


def test_the_navigator_sees_the_task_the_code_and_the_hardware(tmp_path):
    gateway = Answers('{"technique": "cache-blocking"}')
    asyncio.run(choose_step(serial_brief(tmp_path, gateway, *map(step, NAMES))))
    shown = gateway.asked[0][1].messages[-1].text
    assert "out[i] = a * x[i]" in shown
    assert "## Hardware" in shown
    assert "input  " in shown


def test_nobody_is_asked_where_there_is_one_way():
    gateway = Answers("")
    assert asyncio.run(choose_step(brief(gateway, step("a-b")))).technique == "a-b"
    assert gateway.asked == []


def test_the_graphs_own_writer_carries_the_change_over_and_says_which_step_it_took():
    kernel = 'extern "C" void kernel(const float* x, float* y) {}\n'
    (made,) = asyncio.run(GraphWriter().propose(brief(Answers(""), step("a-b", after=kernel), adviser="")))
    assert (made.candidate.source, made.technique) == (kernel, "a-b")


def test_a_change_that_does_not_fit_makes_no_proposal():
    made = asyncio.run(GraphWriter().propose(brief(Answers(""), step("a-b", before="something else\n"), adviser="")))
    assert made == []
