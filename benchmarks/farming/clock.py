"""An event loop whose clock jumps to whatever comes next: hours pass in seconds, and the code that waits is the real one."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Leap(selectors.SelectSelector):
    """Waits for nothing: what it was to wait is added to the clock."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nothing will happen")
        self.passed += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """No descriptors are heard, and what would go to a thread is done at once."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        """Seconds since it began."""
        return self._leap.passed

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # noqa: ANN401
        """The function's result, in no time."""
        done: asyncio.Future[T] = self.create_future()
        done.set_result(func(*args))
        return done


def play(scene: Coroutine[Any, Any, T]) -> T:
    """Run a scene to its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scene)
