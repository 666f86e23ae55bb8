"""The mock server reads the facts of a prompt; what it answers does not depend on them."""

import json
from dataclasses import replace

from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.sections import Facts as Shown
from kernelwright.propose.llm.sections import values
from kernelwright.propose.llm.writer import CODE
from kernelwright.propose.proposer import Brief, RunFacts
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.measure import CaseError, Yardstick
from kernelwright.testing.samples import sample_task
from mock_llm.facts import facts_in
from mock_llm.prompt import Message, Prompt

CASE = CaseError(distribution="scaled", error=1e-8, reference_error=1e-8, allowed=2e-7)
YARDSTICK = Yardstick(times_us={"eager": 96.5, "compile": 61.25}, floor_us=8.75, strictest=CASE)


def prompt(known):
    request = ProposalRequest(number=0, intent="seed", role="coder")
    brief = replace(Brief(sample_task(), request, (), (), 0, "cpp"), run=RunFacts(yardstick=known))
    text = Prompts().render("coder-seed", values(Shown(brief, "cpp"), CODE)).user
    return Prompt([Message("user", text)])


def test_the_first_prompt_s_facts_are_the_record_s():
    found = facts_in(prompt(YARDSTICK))
    assert found.times_us == {"eager": 96.5, "torch.compile": 61.25}
    assert (found.floor_us, found.tolerance, found.example) == (8.75, 2e-7, True)


def test_what_is_not_told_is_not_read():
    found = facts_in(prompt(None))
    assert (found.times_us, found.floor_us, found.tolerance, found.loops) == ({}, None, None, ())


def test_loops_are_read_from_a_profile_s_figures():
    told = json.dumps({"call": {}, "loops": [{"vector_bits": 256}, {"vector_bits": 0}]})
    text = f"## Profile\n\n```json\n{told}\n```\n\n```json\n[]\n```\n"
    assert facts_in(Prompt([Message("user", text)])).loops == (256, 0)
