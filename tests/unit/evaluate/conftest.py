"""One warm parent for all tests that put children into the sandbox."""

import os

import pytest

from kernelwright.evaluate.backends.cpu.backend import CpuBackend, host_of
from kernelwright.evaluate.backends.table import INDUCTOR, PARENTS
from kernelwright.evaluate.sandbox.spawn import Warm


@pytest.fixture(scope="session")
def warm():
    """The warm parent, with what a worker's has imported, born with a secret in the environment that no child may see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_KEY", "hunter2")
        with Warm(PARENTS["cpu"][0], INDUCTOR) as parent:
            yield parent


@pytest.fixture(scope="session")
def backend(warm):
    """This machine's CPU, with the one warm parent."""
    return CpuBackend(host_of(warm, 1))


@pytest.fixture
def as_root():
    """Whether this process is root, so that children become nobody."""
    return os.getuid() == 0
