"""Two other processes: Triton's interpreter as it is, and repaired. Triton reads the switch when imported."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch


@pytest.fixture(autouse=True)
def _private_folders(tmp_path, monkeypatch):
    """What a test writes goes where pytest cleans up."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture(autouse=True)
def _same_numbers():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def _processes(tmp_path_factory):
    switches = {"TRITON_INTERPRET": "1", "TMPDIR": str(tmp_path_factory.mktemp("interpreted"))}
    context = multiprocessing.get_context("spawn")
    pools = {name: ProcessPoolExecutor(1, mp_context=context) for name in ("raw", "repaired")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in switches.items():
            patch.setenv(name, value)
        for pool in pools.values():
            pool.submit(os.getpid).result()  # started while the switches are set
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
