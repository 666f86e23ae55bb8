"""Two other processes: Triton's interpreter as it is, and repaired. Triton reads the switch when imported."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest


@pytest.fixture(scope="session")
def _processes(tmp_path_factory):
    before = os.environ.get("TRITON_INTERPRET")
    os.environ["TRITON_INTERPRET"] = "1"
    context = multiprocessing.get_context("spawn")
    pools = {name: ProcessPoolExecutor(1, mp_context=context) for name in ("raw", "repaired")}
    try:
        for pool in pools.values():
            pool.submit(os.getpid).result()  # started while the switch is set
    finally:
        os.environ.pop("TRITON_INTERPRET")
        if before is not None:
            os.environ["TRITON_INTERPRET"] = before
    yield pools
    for pool in pools.values():
        pool.shutdown()


@pytest.fixture
def raw(_processes):
    """Call a function in a process with Triton's own interpreter."""
    return lambda function, *arguments: _processes["raw"].submit(function, *arguments).result()


@pytest.fixture
def repaired(_processes):
    """Call a function in a process whose interpreter the function repairs."""
    return lambda function, *arguments: _processes["repaired"].submit(function, *arguments).result()
