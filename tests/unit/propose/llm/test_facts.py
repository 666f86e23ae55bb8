"""Every figure in a prompt is that of the record it comes from, and no figure of another device or run is in it."""

import json
import re
from dataclasses import replace

import pytest

from kernelwright.propose.llm.hardware import describe_hardware
from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.sections import Facts, held_against, values
from kernelwright.propose.llm.writer import CODE
from kernelwright.propose.proposer import RunFacts
from kernelwright.records.attempt import Setting
from kernelwright.records.comparator import Calibrated, Exact
from kernelwright.records.measure import CaseError, Load, Yardstick
from kernelwright.records.numerics import Numerics
from kernelwright.records.run import Device, Environment
from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_profile, sample_task

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
    for fact in (DEVICE.name, "7 cores", "256 bits", "20.0 GB/s", "L1 65536, L2 9437184", "g++ 12.2.0", "torch 2.13.0"):
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


def test_the_workload_says_how_each_result_is_compared(brief, attempt):
    def said(*comparators):
        made = brief(attempt(3))
        task = made.task.model_copy(update={"comparators": comparators})
        return Prompts().render("coder-improve", values(Facts(replace(made, task=task), "cpp"), CODE)).user

    assert "error against fp64 at most 7 times the reference's own" in said(Calibrated(k=7))
    assert "; the very bits of the reference" in said(Exact())


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
    assert set(BANDWIDTHS.findall(hardware)) == {"20.0"}, "what the referee holds the candidate against"


BUSY = Load(cores=2, during=1.9)


def test_a_busy_machine_is_told_to_the_model_too(brief, attempt):
    parent = attempt(3)
    timing = parent.evaluation.timing.model_copy(update={"load": BUSY})
    loaded = parent.model_copy(update={"evaluation": parent.evaluation.model_copy(update={"timing": timing})})
    quiet, told = (
        Prompts().render("coder-improve", values(Facts(brief(p), "cpp"), CODE)).user for p in (parent, loaded)
    )
    assert "this machine was busy while the candidate was timed" in told and "busy" not in quiet


def test_a_setting_without_a_time_says_why(brief, attempt):
    tried = (*SETTINGS, Setting(values={"BLOCK": 16}, outcome="suspect", why="this machine was busy"))
    made = brief(attempt(3).model_copy(update={"settings": tried}))
    text = Prompts().render("coder-improve", values(Facts(made, "cpp"), CODE)).user
    assert "candidate with BLOCK = 16: suspect (this machine was busy)" in text


def test_a_crash_is_told_once(brief, attempt):
    parent = attempt(outcome="crashed")
    log = "Traceback of the kernel: " + "index 7 is past the end of in0; " * 4
    crashed = parent.model_copy(update={"evaluation": parent.evaluation.model_copy(update={"log": log})})
    text = Prompts().render("coder-repair", values(Facts(brief(crashed, intent="repair"), "cpp"), CODE)).user
    assert text.count("Traceback of the kernel") == 1


def test_figures_of_little_are_not_zero(brief, attempt):
    parent = attempt(3)
    slow = parent.evaluation.roofline.model_copy(update={"achieved_gbps": 0.0123, "fraction": 0.001})
    timing = parent.evaluation.timing.model_copy(update={"latency_us": 1e7})
    found = parent.evaluation.model_copy(update={"roofline": slow, "timing": timing})
    parent = parent.model_copy(update={"evaluation": found})
    text = Prompts().render("coder-improve", values(Facts(brief(parent), "cpp"), CODE)).user
    assert "0.0123 of 20 GB/s" in text and "0.0 of" not in text


def test_only_software_and_flags_that_matter_to_the_target_are_told():
    versions = {"torch": "2.13.0", "triton": "3.7.1", "nvrtc": "13.0", "c++": "g++ 12.2.0"}
    environment = Environment(device=DEVICE, versions=versions, isolation=())
    flags = Numerics(mode="as-is", flags={"cudnn.allow_tf32": True})
    cpu = sample_task().model_copy(update={"numerics": flags})
    absent = cpu.model_copy(update={"target": Target(kind="cuda", arch="sm_90", present=False)})
    here, away = (describe_hardware(task, environment).facts for task in (cpu, absent))
    assert "g++ 12.2.0" in here and "triton" not in here and "allow_tf32" not in here
    assert "triton 3.7.1" in away and "nvrtc 13.0" in away and "g++" not in away and "allow_tf32" in away
