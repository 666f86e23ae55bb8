"""The watch on the device: which blocks are measured again, which are marked, and what is written down."""

import sys
import types

import pytest

from kernelwright.evaluate.timing.conditions import MOST_REPEATS, Reading, Watch, throttled, watch


def reading(sm_mhz=1980, reasons=0):
    return Reading(sm_mhz, memory_mhz=3201, temperature_c=41, power_w=350.5, reasons=reasons)


def scripted(*readings):
    source = iter(readings)
    return Watch(read=lambda: next(source))


def test_quiet_blocks_count_and_their_readings_are_kept():
    on = scripted(reading(), reading(1965))
    assert [on.spoiled(), on.spoiled()] == [False, False]
    found = on.conditions()
    assert found.sm_mhz == (1980, 1965)
    assert (found.memory_mhz, found.temperature_c, found.power_w) == ((3201,) * 2, (41,) * 2, (350.5,) * 2)
    assert (found.throttled, found.marked, found.repeated, found.note) == ((), (), 0, "")


@pytest.mark.parametrize("bad", [reading(reasons=0x40), reading(reasons=0x4), reading(sm_mhz=1900)])
def test_a_throttled_or_slowed_block_is_measured_again(bad):
    on = scripted(reading(), bad, reading())
    assert [on.spoiled() for _ in range(3)] == [False, True, False]
    assert on.conditions().repeated == 1
    assert len(on.conditions().sm_mhz) == 2
    assert on.effect_times == 1.0


def test_what_does_not_end_is_marked_and_asks_for_more():
    bad = [reading(reasons=0x4 | 0x20)] * (MOST_REPEATS + 3)
    on = scripted(*bad, reading())
    spoiled = [on.spoiled() for _ in range(MOST_REPEATS + 4)]
    assert spoiled == [True] * MOST_REPEATS + [False] * 4
    assert on.conditions().marked == (0, 1, 2)
    assert on.conditions().throttled == ("software power cap", "software thermal slowdown")
    assert on.effect_times == 2.0


def test_a_few_marked_blocks_do_not_ask_for_more():
    on = scripted(*[reading(reasons=0x8)] * (MOST_REPEATS + 1), *[reading()] * 9)
    for _ in range(MOST_REPEATS + 10):
        on.spoiled()
    assert on.conditions().marked == (0,)
    assert on.effect_times == 1.0


def test_reasons_seen_in_blocks_that_were_dropped_are_told():
    on = scripted(reading(reasons=0x80), reading())
    on.spoiled()
    on.spoiled()
    assert on.conditions().throttled == ("hardware power brake",)


def test_idle_and_chosen_clocks_are_no_throttling():
    assert throttled(0x1 | 0x2 | 0x10 | 0x100) == ()


def test_a_slow_device_is_measured_again_unless_it_is_only_idle():
    on = scripted(reading(345), reading(1980), reading(345), reading(345, reasons=0x1))
    assert [on.spoiled() for _ in range(4)] == [False, False, True, False]


def test_time_of_being_slowed_down_is_counted_during_the_block():
    def counted(at_ns, power, thermal=0):
        return Reading(1980, 3201, 41, 690.0, 0, at_ns, (power, thermal))

    on = scripted(
        counted(0, 500), counted(1000, 540), counted(2000, 700), counted(3000, 700, 51), counted(4000, 700, 51)
    )
    on.begin()
    assert [on.spoiled() for _ in range(4)] == [False, True, True, False]
    assert on.conditions().throttled == ("power violation", "thermal violation")


def test_without_the_package_there_is_a_note_and_no_reading(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    on = watch("GPU-0")
    assert not on.spoiled()
    assert "nvidia-ml-py" in on.conditions().note
    assert on.conditions().sm_mhz == ()
    assert on.effect_times == 1.0


class FakeNvml(types.ModuleType):
    """A device that answers, or a driver that does not."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_PERF_POLICY_POWER, NVML_PERF_POLICY_THERMAL = 0, 1

    class NVMLError(Exception):
        pass

    def __init__(self, answers=True, counts=True):
        super().__init__("pynvml")
        self.answers, self.counts, self.asked = answers, counts, []

    def nvmlDeviceGetViolationStatus(self, handle, policy):  # noqa: N802
        if not self.counts:
            raise self.NVMLError("not supported")
        return types.SimpleNamespace(violationTime=100 + policy)

    def nvmlInit(self):  # noqa: N802
        if not self.answers:
            raise self.NVMLError("driver not loaded")

    def __getattr__(self, name):
        values = {
            "nvmlDeviceGetHandleByUUID": lambda uuid: self.asked.append(uuid) or "handle",
            "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 1755, 2: 3201}[kind],
            "nvmlDeviceGetTemperature": lambda handle, kind: 55,
            "nvmlDeviceGetPowerUsage": lambda handle: 698_500,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x4,
        }
        if name in values:
            return values[name]
        assert name.startswith("_"), f"the watch must read and set nothing: {name}"
        raise AttributeError(name)


def test_nvml_is_read_by_the_device_s_own_name(monkeypatch):
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    on = watch("1234-5678")
    assert fake.asked == ["GPU-1234-5678"]
    found = on.read()
    assert found == Reading(1755, 3201, 55, 698.5, 0x4, found.at_ns, (100, 101))


def test_a_device_that_does_not_count_violations_is_read_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(counts=False))
    on = watch("GPU-1")
    assert on.read().violated_ns == ()
    on.begin()
    assert on.spoiled(), "its bits still count"


def test_a_driver_that_does_not_answer_is_noted(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(answers=False))
    assert watch("GPU-1").conditions().note == "NVML does not answer: driver not loaded"


def test_a_device_that_stops_answering_costs_readings_and_no_verdict(monkeypatch):
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    on = watch("GPU-1")

    def lost(handle):
        raise fake.NVMLError("GPU is lost")

    fake.nvmlDeviceGetPowerUsage = lost
    on.begin()
    assert not on.spoiled()
    assert on.conditions().sm_mhz == ()
    assert on.conditions().note
