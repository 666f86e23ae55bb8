"""Each class of bottleneck is recognised in the profile that shows it, and not in its honest twin, in every tier."""

from typing import get_args

import pytest

from kernelwright.feedback import kernel_limits
from kernelwright.feedback.bottleneck import LEAST_GAIN, MOST, UNKNOWN, bottleneck, diagnose
from kernelwright.records.feedback import BROADER, Bottleneck
from kernelwright.records.measure import BuildFacts, KernelFacts, Roofline
from kernelwright.records.profile import Ceilings, Counters, KernelProfile, Profile, compiled
from kernelwright.testing.samples import sample_measured, sample_profile

H200 = Ceilings(
    read_gbps=4400.0, copy_gbps=4300.0, fp32_tflops=51.0, tf32_tflops=400.0, bf16_tflops=790.0, launch_us=1.5
)

QUIET = Counters(
    sm_active_share=0.98, issue_share=0.5, sm_share=0.5, fma_share=0.3, tensor_share=0.0, dram_share=0.5, dram_gbps=2200.0,
    dram_read_bytes=5e8, dram_write_bytes=5e8, l1_share=0.4, l2_share=0.4, load_bytes_per_sector=32.0,
    store_bytes_per_sector=32.0, load_sectors=1.6e7, store_sectors=1.6e7, local_load_sectors=0.0,
    local_store_sectors=0.0, shared_wavefronts=1e6,
    bank_conflicts=1e4, stall_long_scoreboard=0.3, stall_short_scoreboard=0.05, stall_mio_throttle=0.02,
    stall_barrier=0.05, limit_registers=8.0, limit_shared=16.0, limit_blocks=32.0,
)  # fmt: skip
"""Everything is half busy and nothing is wrong: only waiting can be said of it."""


def kernel(name="k", share=1.0, us=500.0, counters=None, **more):
    given = {
        "own": True, "launches": 1, "grid": (4224, 1, 1), "block": (256, 1, 1), "registers": 40, "shared_bytes": 0,
        "occupancy_theoretical": 0.75, "occupancy_achieved": 0.6, "waves": 4.0, **more,
    }  # fmt: skip
    return KernelProfile(name=name, share=share, duration_us=us, counters=counters or Counters(), **given)


def profile(*kernels, tier="counters", **more):
    given = {
        "bytes": 1_000_000_000, "flops": 250_000_000, "ceilings": H200, "multiprocessors": 132,
        "device_us": sum(k.duration_us or 0 for k in kernels), **more,
    }  # fmt: skip
    return Profile(task="t", candidate="c", tier=tier, device="H200", kernels=kernels, **given)


def counted(shape=None, **changes):
    """A profile of one kernel: QUIET with these counters changed, and the kernel's own fields in `shape`."""
    return profile(kernel(counters=QUIET.model_copy(update=changes), **(shape or {})))


def classes(found, measured=None):
    return [f.bottleneck for f in diagnose(found, measured).findings]


LOW = {"occupancy_theoretical": 0.125, "occupancy_achieved": 0.12}
IDLE = {"dram_share": 0.2, "dram_gbps": 900.0, "sm_share": 0.2, "l1_share": 0.2, "l2_share": 0.2, "fma_share": 0.1}
WORN = {"sm_active_share": 0.6, **IDLE}

SICK = {
    "memory": counted(dram_share=0.85, dram_gbps=4100.0),
    "compute": counted(fma_share=0.82, sm_share=0.82),
    "occupancy": counted(LOW, **IDLE),
    "spills": counted(local_load_sectors=6e6, local_store_sectors=6e6, stall_long_scoreboard=0.6),
    "uncoalesced": counted(load_bytes_per_sector=4.0, l2_share=0.8),
    "bank_conflicts": counted(bank_conflicts=9e5, stall_short_scoreboard=0.4, stall_mio_throttle=0.2),
    "tail": counted({"waves": 1.1}, **WORN),
    "latency": counted(**IDLE),
}
WELL = {
    "memory": counted(),
    "compute": counted(fma_share=0.5),
    # As few warps as a warp-specialised matrix product has: the tensor cores are busy all the same.
    "occupancy": counted(LOW, tensor_share=0.85, sm_share=0.85),
    # A few spilled registers outside of the loop, as the compiler counts them.
    "spills": counted({"spill_bytes": 16}, local_load_sectors=2e5),
    # A gather that is a thousandth of the traffic.
    "uncoalesced": counted(store_bytes_per_sector=4.0, store_sectors=1.6e4),
    "bank_conflicts": counted(bank_conflicts=9e5, stall_short_scoreboard=0.05, l1_share=0.2),
    # Blocks of unequal length fill the last wave.
    "tail": counted({"waves": 1.1}, sm_active_share=0.97),
    "latency": counted(dram_share=0.7, dram_gbps=3080.0),
}


@pytest.mark.parametrize("name", SICK)
def test_each_class_is_recognised_in_counters(name):
    found = classes(SICK[name])
    assert found[0] == name or (name in found and name not in ("memory", "compute", "latency")), found


@pytest.mark.parametrize("name", WELL)
def test_the_honest_twin_is_spared(name):
    assert name not in classes(WELL[name])


@pytest.mark.parametrize("name", SICK)
def test_every_finding_has_numbers_and_one_suggestion(name):
    for finding in diagnose(SICK[name]).findings:
        assert any(letter.isdigit() for letter in finding.evidence)
        assert finding.evidence.endswith(".")
        assert finding.suggestion.endswith(".")
        assert finding.gain is None or 0 <= finding.gain <= 1


def test_findings_are_ranked_by_what_they_could_give():
    found = diagnose(
        counted(LOW, load_bytes_per_sector=4.0, l2_share=0.55, **{k: v for k, v in IDLE.items() if k != "l2_share"})
    )
    gains = [f.gain for f in found.findings if f.gain is not None]
    assert gains == sorted(gains, reverse=True)
    assert 2 <= len(found.findings) <= MOST
    assert all(g >= LEAST_GAIN for g in gains[1:])


def test_a_gain_is_weighed_by_the_kernels_share():
    alone = diagnose(SICK["uncoalesced"]).findings[0]
    slow = kernel("slow", 0.25, 100.0, SICK["uncoalesced"].kernels[0].counters)
    rest = kernel("rest", 0.75, 300.0, QUIET)
    shared = next(f for f in diagnose(profile(slow, rest)).findings if f.bottleneck == "uncoalesced")
    assert shared.kernel == "slow"
    assert shared.gain == pytest.approx(alone.gain * 0.25)


def test_a_kernel_of_little_time_is_not_worth_a_word():
    tiny = kernel("tiny", 0.01, 5.0, SICK["uncoalesced"].kernels[0].counters)
    assert "uncoalesced" not in classes(profile(tiny, kernel("rest", 0.99, 495.0, QUIET)))


def test_a_librarys_kernel_is_nobodys_to_cure():
    theirs = kernel("at::native::f", counters=SICK["uncoalesced"].kernels[0].counters, own=False)
    assert "uncoalesced" not in classes(profile(theirs))


def test_excess_traffic_over_several_kernels_asks_for_fusion():
    part = QUIET.model_copy(update={"dram_gbps": 4100.0, "dram_share": 0.85})
    found = diagnose(profile(kernel("a", 0.5, 250.0, part), kernel("b", 0.5, 250.0, part)))
    first = found.findings[0]
    assert (first.bottleneck, first.kernel) == ("memory", "")
    assert "2000.0 MB where 1000.0 MB would do" in first.evidence
    assert "Fuse the kernels" in first.suggestion
    assert first.gain == pytest.approx(0.5)


@pytest.mark.parametrize("name", SICK)
def test_no_advice_is_what_the_prompts_forbid(name):
    for finding in diagnose(SICK[name]).findings:
        assert "narrower" not in finding.suggestion


def test_few_bytes_are_told_as_bytes():
    part = QUIET.model_copy(update={"dram_gbps": 4100.0, "dram_share": 0.85})
    found = diagnose(profile(kernel("a", 0.5, 250.0, part), kernel("b", 0.5, 250.0, part), bytes=8192))
    assert "2000.0 MB where 8192 bytes would do" in found.findings[0].evidence


def test_the_limiter_of_occupancy_is_named():
    found = next(f for f in diagnose(SICK["occupancy"]).findings if f.bottleneck == "occupancy")
    assert "limited by registers" in found.evidence


def test_waiting_is_told_with_what_for():
    found = diagnose(counted(stall_barrier=0.55, **IDLE)).findings[0]
    assert found.bottleneck == "latency"
    assert "55% of their time waiting for other warps at barriers" in found.evidence


def test_every_stall_has_a_counter():
    assert set(kernel_limits.STALLS) <= set(Counters.model_fields)


def traced(us, launches=1, **more):
    return profile(kernel(us=us, launches=launches), tier="trace", **more)


@pytest.mark.parametrize(
    ("found", "first"),
    [
        (traced(250.0), "memory"),
        (traced(900.0), "latency"),
        (traced(3.0, bytes=1_000_000), "launch"),
        (traced(30.0, launches=10, bytes=40_000_000), "launch"),
        (traced(3000.0, flops=137_000_000_000, bytes=200_000_000), "compute"),
        (traced(9000.0, flops=137_000_000_000, bytes=200_000_000), "latency"),
        (traced(400.0), "unknown"),
        (profile(kernel(us=450.0, waves=1.2), tier="trace"), "tail"),
        (profile(kernel(us=450.0, occupancy_theoretical=0.125, occupancy_achieved=None), tier="trace"), "occupancy"),
        (profile(kernel(us=450.0, spill_bytes=256), tier="trace"), "spills"),
    ],
)
def test_a_trace_is_enough_for_most_classes(found, first):
    assert diagnose(found).bottleneck == first


@pytest.mark.parametrize(
    ("twin", "spared"),
    [
        (traced(250.0), "latency"),
        (traced(60.0, launches=2, bytes=200_000_000), "launch"),
        (profile(kernel(us=250.0, waves=1.2), tier="trace"), "tail"),
        (profile(kernel(us=250.0, occupancy_theoretical=0.125, occupancy_achieved=None), tier="trace"), "occupancy"),
        (profile(kernel(us=450.0, waves=1.0), tier="trace"), "tail"),
        (profile(kernel(us=250.0, spill_bytes=256), tier="trace"), "spills"),
        (profile(kernel(us=450.0, spill_bytes=0), tier="trace"), "spills"),
        (traced(3000.0, flops=100_000_000, bytes=200_000_000), "compute"),
    ],
)
def test_the_honest_twin_is_spared_by_a_trace(twin, spared):
    assert spared not in classes(twin)


def test_gaps_between_kernels_are_seen_beside_the_clock():
    measured = sample_measured(1.0)
    found = profile(kernel("a", 0.5, 20.0), kernel("b", 0.5, 20.0), tier="trace", bytes=8192)
    assert diagnose(found, measured).bottleneck == "launch"
    assert "60% of the call no kernel runs" in diagnose(found, measured).findings[0].evidence


def test_the_compilers_facts_alone_say_what_they_can():
    build = BuildFacts(
        compiler="ptxas", seconds=1.0, kernels=(KernelFacts(name="k", registers=255, spill_bytes=512, occupancy=0.125),)
    )
    found = compiled("t", "c", "sm_90", build, "not here").model_copy(
        update={"bytes": 10**9, "flops": 10**8, "ceilings": H200.model_copy(update={"origin": "published"})}
    )
    statement = diagnose(found)
    assert {f.bottleneck for f in statement.findings} == {"spills", "occupancy", "memory"}
    assert all(f.gain is None for f in statement.findings)
    assert "Expected to be memory-bound, and not measured" in statement.words


def test_a_kernel_that_fits_is_not_blamed_by_the_compilers_facts():
    build = BuildFacts(compiler="g", seconds=1.0, kernels=(KernelFacts(name="k", spill_bytes=0, occupancy=1.0),))
    assert diagnose(compiled("t", "c", "sm_90", build)).words == UNKNOWN


def test_a_measurement_without_a_profile_is_judged_as_before():
    roof = Roofline(bytes=10, flops=10, achieved_gbps=19.0, ceiling_gbps=20.0, floor_us=50.0)
    found = sample_measured(1.0).model_copy(update={"roofline": roof})
    assert bottleneck(found).bottleneck == "memory"


def test_nothing_known_is_said_to_be_unknown():
    empty = Profile(task="t", candidate="c", tier="compiler", device="cpu")
    assert (diagnose(empty).bottleneck, diagnose(empty).words) == ("unknown", UNKNOWN)
    assert diagnose(None).words == UNKNOWN


def test_the_words_count_the_findings_and_name_library_time():
    words = diagnose(sample_profile()).words
    assert words.startswith("90% of the device time is in its own kernels.\n1. ")
    assert "at most" in words


def test_data_from_a_cache_is_told():
    assert "comes from a cache" in diagnose(traced(150.0)).words
    assert "comes from a cache" not in diagnose(traced(250.0)).words


def test_each_particular_cause_has_its_broader_class():
    broad = {"memory", "compute", "latency", "launch", "unknown"}
    assert set(BROADER) == set(get_args(Bottleneck)) - broad
    assert set(BROADER.values()) <= broad


def test_a_class_is_told_once_of_the_call_or_of_its_kernels():
    found = diagnose(SICK["memory"]).findings
    assert len([f for f in found if f.bottleneck == "memory"]) == 1
