"""What takes too long is ended, whatever it catches and wherever its threads are."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelwright.evaluate.entrypoints.reference import cuda as time_limit
from kernelwright.evaluate.entrypoints.reference.cuda import TimeIsOver, ended_after

LONG_S = 60.0


def tries_the_next():
    while True:
        try:
            time.sleep(LONG_S)
        except Exception:  # noqa: BLE001 (as a compiler that tunes)
            continue


def test_a_loop_that_goes_on_after_every_error_is_ended():
    began = time.monotonic()
    with pytest.raises(TimeIsOver), ended_after(0.05):
        tries_the_next()
    assert time.monotonic() - began < LONG_S


def test_what_is_done_in_time_is_not_rung_for_later():
    before = signal.getsignal(signal.SIGALRM)
    with ended_after(0.1):
        pass
    time.sleep(0.2)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_error_of_the_block_stays_what_it_is():
    with pytest.raises(ValueError, match="of its own"), ended_after(LONG_S):
        raise ValueError("of its own")


def test_what_its_thread_pools_have_not_begun_is_never_done():
    begun = []

    def compile_one(number):
        begun.append(number)
        time.sleep(0.2)

    with pytest.raises(TimeIsOver), ended_after(0.1):
        pool = ThreadPoolExecutor(1)
        waiting = [pool.submit(compile_one, number) for number in range(500)]
        waiting[-1].result()
    known = list(begun)
    assert 0 < len(known) < len(waiting)
    assert all(future.done() for future in waiting)
    assert not [thread for thread in threading.enumerate() if thread in pool._threads]
    time.sleep(0.3)
    assert begun == known


class Unlucky:
    """Is being finalised as the alarm rings."""

    def __del__(self):
        time.sleep(0.3)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_that_python_drops_is_rung_again(monkeypatch):
    monkeypatch.setattr(time_limit, "AGAIN_S", 0.5)
    began = time.monotonic()
    with pytest.raises(TimeIsOver), ended_after(0.1):
        unlucky = Unlucky()
        del unlucky
        tries_the_next()
    assert time.monotonic() - began < LONG_S


def test_pools_that_were_there_before_go_on():
    pool = ThreadPoolExecutor(1)
    with pytest.raises(TimeIsOver), ended_after(0.05):
        tries_the_next()
    assert pool.submit(str, 7).result() == "7"
    pool.shutdown()
