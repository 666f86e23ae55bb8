"""Every figure in a prompt is that of the record it comes from, and no figure of another device or run is in it."""

import json
import re
from dataclasses import replace

import pytest

from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.sections import Facts, held_against, values
from kernelwright.propose.llm.writer import CODE
from kernelwright.propose.proposer import RunFacts
from kernelwright.records.attempt import Setting
from kernelwright.records.measure import CaseError, Yardstick
from kernelwright.records.run import Device, Environment
from kernelwright.testing.samples import sample_profile

DEVICE = Device(
    kind="cpu", name="A CPU of 7 cores", cores=7, memory_gbps=31.25, cache_bytes=9_437_184, caches=(65_536, 9_437_184),
    vector_bits=256,
)  # fmt: skip
CASE = CaseError(distribution="scaled", error=1e-7, reference_error=4.5e-8, allowed=6.3e-6)
YARDSTICK = Yardstick(times_us={"eager": 123.45, "compile": 98.76}, strictest=CASE, floor_us=11.11)
SETTINGS = (
    Setting(values={"BLOCK": 64}, outcome="measured", latency_us=77.25),
    Setting(values={"BLOCK": 32}, outcome="crashed"),
)
CALL = re.compile(r"Metrics, \w+:\n\n```json\n(.*?)\n```", re.DOTALL)
BANDWIDTHS = re.compile(r"([\d.]+) GB/s")


@pytest.fixture
def told(brief, attempt):
    """A coder's prompt for an improvement, with the records that it is about."""
    parent = attempt(3).model_copy(update={"settings": SETTINGS})
    made = brief(parent, role="coder", intent="improve")
    environment = Environment(device=DEVICE, versions={"c++": "g++ 12.2.0", "torch": "2.13.0"}, isolation=())
    target = made.task.target.model_copy(update={"present": True})
    made = replace(
        made,
        environment=environment,
        run=RunFacts(9, 8, 3, YARDSTICK),
        task=made.task.model_copy(update={"target": target}),
    )
    profile = sample_profile().model_copy(update={"device": DEVICE.name})
    facts = Facts(made, "cpp", profile)
    return Prompts().render("coder-improve", values(facts, CODE)).user, made, profile


def test_the_device_is_the_one_of_the_run(told):
    text, made, _ = told
    for fact in (DEVICE.name, "7 cores", "256 bits", "31.2 GB/s", "L1 65536, L2 9437184", "g++ 12.2.0", "torch 2.13.0"):
        assert fact in text
    assert f"{made.task.workload.compulsory_bytes} compulsory bytes" in text


def test_what_kernels_are_held_against_is_the_yardstick_s(told):
    text, _, _ = told
    for fact in (
        "eager: 123.45 us",
        "torch.compile: 98.76 us",
        "less than 11.11 us",
        "(scaled): 6.3e-06",
        "errs by 4.5e-08",
    ):
        assert fact in text


def test_a_first_prompt_has_the_yardstick_s_figures_and_nothing_that_was_not_measured(brief):
    def figures(**known):
        made = replace(brief(role="coder", intent="seed"), run=RunFacts(9, 9, None, Yardstick(**known)))
        text = Prompts().render("coder-seed", values(Facts(made, "cpp"), CODE)).user
        return text[text.index("## Figures") : text.index("## Instruction")] if "## Figures" in text else ""

    text = figures(times_us={"eager": 123.45}, strictest=CASE, floor_us=11.11)
    assert re.findall(r"^- (.*)$", text, re.MULTILINE) == held_against(
        Yardstick(times_us={"eager": 123.45}, strictest=CASE, floor_us=11.11)
    )
    assert "eager: 123.45 us" in text
    assert "compile" not in text
    assert "honest kernel" not in figures(strictest=CASE)
    assert figures() == ""


def test_results_that_must_be_exact_have_no_tolerance():
    exact = CASE.model_copy(update={"allowed": 1e-30})
    assert held_against(Yardstick(strictest=exact)) == []


def test_swept_tunables_have_their_times(told):
    text, _, _ = told
    assert "candidate with BLOCK = 64: 77.25 us" in text
    assert "candidate with BLOCK = 32: crashed" in text


def test_every_metric_is_its_record_s(told):
    text, made, profile = told
    shown = json.loads(CALL.search(text)[1])
    measured = made.parents[0].evaluation
    assert {k.name: k.figures() for k in profile.kernels} == shown["kernels"]
    assert shown["call"]["ceilings"] == profile.ceilings.model_dump(mode="json", exclude_none=True)
    assert shown["call"]["latency_us"] == pytest.approx(measured.timing.latency_us, rel=1e-3)
    assert shown["call"]["bandwidth_share"] == pytest.approx(measured.roofline.fraction, rel=1e-2)
    assert (shown["call"]["cores"], shown["call"]["vector_bits"]) == (DEVICE.cores, DEVICE.vector_bits)


def test_the_parent_s_figures_are_its_evaluation_s(told):
    text, made, _ = told
    timing = made.parents[0].evaluation.timing
    assert f"Latency: {timing.latency_us:.2f} us" in text
    for versus in timing.versus:
        assert f"{versus.speedup.median:.2f}x {versus.baseline} ({versus.verdict})" in text


def test_the_hardware_names_one_bandwidth(told):
    text, _, _ = told
    hardware = text[text.index("## Hardware") : text.index("## How it is judged")]
    assert set(BANDWIDTHS.findall(hardware)) == {"31.2"}
