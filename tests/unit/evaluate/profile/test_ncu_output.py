"""What ncu prints is read whatever is mixed into it: units, separators, several launches, complaints, forged rows."""

import pytest

from kernelwright.evaluate.profile import ncu, ncu_output
from kernelwright.evaluate.profile.launches import Sum
from kernelwright.evaluate.profile.ncu_output import number, read, scale_of

LAUNCH = (
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
NAMES = (
    "dram__bytes_read.sum", "gpu__time_duration.sum", "launch__registers_per_thread",
    "sm__warps_active.avg.pct_of_peak_sustained_active", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
)  # fmt: skip


def line(*cells):
    return ",".join(f'"{cell}"' for cell in cells)


def launch(number, name, *values):
    return line(number, 7, "python", "127.0.0.1", name, 1, 7, "(256, 1, 1)", "(1024, 1, 1)", 0, "9.0", *values)


HEAD = line("ID", *LAUNCH)
RAW = f"""==PROF== Connected to process 7 (/usr/bin/python3.12)
a line of the program's own, with "quotes" and, commas
==PROF== Profiling "scale" - 0: 0%....50%....100% - 12 passes
==WARNING== Profiling kernels launched by child processes requires the --target-processes all option.
{line("ID", *LAUNCH, *NAMES)}
{line("", *[""] * len(LAUNCH), "Mbyte", "us", "register/thread", "%", "byte/sector")}
{launch(0, "void scale<float, 4>(float *, int)", "1,234.5", "12.5", "40", "87.5", "31.9")}
{launch(1, "void scale<float, 4>(float *, int)", "1,234.5", "13.5", "40", "88.5", "n/a")}
{launch(2, "at::native::fill(int)", "0", "2.0", "16", "(!) nan", "0")}
==PROF== Disconnected from process 7
"""
LONG_HEAD = line("ID", *LAUNCH, "Section Name", "Metric Name", "Metric Unit", "Metric Value")


def long(name, unit, value):
    return line(0, 7, "python", "h", "k", 1, 7, "(32, 2, 1)", "(4, 5, 6)", 0, "8.9", "Command line", name, unit, value)


LONG = f"""==PROF== Connected
{LONG_HEAD}
{long("gpu__time_duration.sum", "nsecond", "2,500")}
{long("dram__bytes.sum.per_second", "Gbyte/second", "1.5")}
{long("lts__t_sector_hit_rate.pct", "%", "n/a")}
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12.0), ("1,234", 1234.0), ("1,234,567.25", 1234567.25), ("0.000012", 1.2e-5), ("4.0e-05", 4e-5),
        ("1.234.567", 1234567.0), ("65,77", 65.77), ("1.234,5", 1234.5), ("-3", -3.0), ("n/a", None), ("(!) nan", None),
        ("", None), ("inf", None), ("0x10", None), ("12 us", None), (",", None),
    ],
)  # fmt: skip
def test_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("byte", 1.0), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte/s", 1e12), ("Gbyte/second", 1e9),
        ("ns", 1e-9), ("nsecond", 1e-9), ("us", 1e-6), ("usecond", 1e-6), ("msecond", 1e-3), ("second", 1.0), ("%", 1.0),
        ("", 1.0), ("register/thread", 1.0), ("Kbyte/block", 1e3), ("block", 1.0), ("byte/ns", 1e9), ("Ghz", 1e9),
        ("inst/cycle", 1.0), ("who knows", 1.0),
    ],
)  # fmt: skip
def test_units(unit, factor):
    assert scale_of(unit) == pytest.approx(factor)


def test_the_raw_page():
    found = read(RAW)
    assert [i.kernel for i in found.instances] == ["void scale<float, 4>(float *, int)"] * 2 + ["at::native::fill(int)"]
    first, second, third = found.instances
    assert (first.grid, first.block) == ((1024, 1, 1), (256, 1, 1))
    assert first.values["dram__bytes_read.sum"] == pytest.approx(1.2345e9)
    assert first.values["gpu__time_duration.sum"] == pytest.approx(12.5e-6)
    assert "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio" not in second.values
    assert "sm__warps_active.avg.pct_of_peak_sustained_active" not in third.values
    assert (found.problem, found.denied, found.unknown) == ("", False, frozenset())


def test_the_details_page():
    (found,) = read(LONG).instances
    assert (found.grid, found.block) == ((4, 5, 6), (32, 2, 1))
    assert found.values == {"gpu__time_duration.sum": pytest.approx(2.5e-6), "dram__bytes.sum.per_second": 1.5e9}


def test_launches_of_one_kernel_become_one_entry():
    seen = ncu.seen_in(read(RAW), (9, 0), frozenset())
    scale, fill = Sum(frozenset({"scale"})).kernels(seen)
    assert (scale.name, scale.own, scale.launches) == ("scale<float, 4>", True, 2)
    assert scale.duration_us == pytest.approx(26.0)
    assert scale.share == pytest.approx(26 / 28)
    assert scale.registers == 40
    assert scale.occupancy_achieved == pytest.approx(0.885), "of the last launch"
    assert scale.counters.load_bytes_per_sector is None
    assert scale.counters.dram_read_bytes == pytest.approx(1.2345e9)
    assert (fill.own, fill.occupancy_achieved) == (False, None)


@pytest.mark.parametrize(
    "text", ["", "==PROF== Connected to process 1\n", "nothing of interest\n", HEAD, f'{HEAD}\n""\n']
)
def test_nothing_profiled_is_a_problem_in_words(text):
    found = read(text)
    assert found.instances == ()
    assert ncu.refusal(found) == "ncu reported no kernel"


def test_ncus_own_words_are_kept():
    found = read("==PROF== Connected\n==WARNING== No kernels were profiled.\n")
    assert "No kernels were profiled" in ncu.refusal(found)


def test_a_denied_permission_names_the_cure():
    found = read(
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
        "target device 0.\n==PROF== Disconnected\n"
    )
    assert found.denied
    assert "NVreg_RestrictProfilingToAdminUsers=0" in ncu.refusal(found)


def test_counters_held_by_another_tool_are_told_apart():
    found = read("==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool …\n")
    assert "dcgmi profile --pause" in ncu.refusal(found)


def test_unknown_metrics_are_named():
    found = read(
        "==ERROR== Failed to find metric regex:^sm__inst_executed_pipe_fp32(\\.(sum|min|max|avg|pct|ratio|max_rate))?$\n"
        "==ERROR== Failed to find metric dram__bytes_read.sum\n"
    )
    assert found.unknown == {"sm__inst_executed_pipe_fp32", "dram__bytes_read.sum"}


def test_an_unknown_base_name_takes_all_its_metrics_away():
    asked = ncu.wanted((9, 0), frozenset({"dram__bytes_read"}))
    assert "dram__bytes_read.sum" not in asked
    assert "dram__bytes_op_read.sum" in asked


def test_a_quote_that_the_program_left_open_swallows_nothing():
    assert len(read(RAW.replace('with "quotes"', 'with "an open quote')).instances) == 3


@pytest.mark.parametrize(
    "row", ['"9","7"', '"x","7","python","h","k","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","1","1","1","1","1"']
)
def test_rows_that_are_none_are_passed_over(row):
    assert len(read(RAW + row + "\n").instances) == 3


def test_a_forged_grid_is_no_grid():
    text = RAW.replace('"(1024, 1, 1)"', '"(0, 1, 99999999999999999999)"')
    assert all(i.grid is None for i in read(text).instances)


def test_hostile_text_is_read_without_harm():
    for junk in (
        "\x00" * 100,
        '"' * 5000,
        "," * 5000 + '"',
        "==ERROR==" * 1000,
        '"ID","Kernel Name"\n"1","k"\n"","s"\n',
    ):
        assert isinstance(ncu_output.read(junk).problem, str)
