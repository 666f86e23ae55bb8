"""Waits for asynchronous work from code that is not, also where an event loop runs already, as in a notebook."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to. An interrupt cancels the work, which may still answer.

    Raises:
        KeyboardInterrupt: the work was interrupted and had no answer.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _beside(work)


def _beside(work: Coroutine[Any, Any, T]) -> T:
    """The same on a loop in a thread of its own: the caller's loop stands still, as in any call that blocks."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    with ThreadPoolExecutor(1, thread_name_prefix="kernelwright") as pool:
        running = pool.submit(_finish, loop, task)
        try:
            return running.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(task.cancel)
            return _answer(task, running.result)


def _finish(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[T]") -> T:
    try:
        return loop.run_until_complete(task)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _answer(task: "asyncio.Task[T]", result: Any) -> T:  # noqa: ANN401
    try:
        return result()  # type: ignore[no-any-return]
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
