"""Ends work in this process that takes too long, such as a compiler that tries one kernel after another.

Only the reference's main thread asks for it. A call into C is ended once it returns, which for a kernel on a device is when
the kernel is done.
"""

import gc
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType

AGAIN_S = 5.0
"""The alarm rings again after so long: Python drops an exception that is raised while an object is finalised."""


class TimeIsOver(BaseException):
    """The block took longer than it may."""


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """End the block after so long, and what it has begun in thread pools of its own: nothing runs on beside a clock.

    Raises:
        TimeIsOver: it was not done.
    """

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeIsOver

    others, before = _pools(), signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    except TimeIsOver:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for pool in [found for found in _pools() if found not in others]:
            pool.shutdown(cancel_futures=True)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _pools() -> list[ThreadPoolExecutor]:
    """Of this process; by type, since an object may answer for its class as it likes."""
    return [found for found in gc.get_objects() if issubclass(type(found), ThreadPoolExecutor)]
