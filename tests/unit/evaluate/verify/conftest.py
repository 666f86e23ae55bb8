"""Random outputs are compared on the same draws in every run, and on one thread."""

import pytest
import torch


@pytest.fixture
def seeded():
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    # Many small operations: on a busy machine threads wait for each other.
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
