"""What a module says of where its parameters lie is looked at, in memory that may be anything."""

import os

import pytest
import torch

from kernelwright.evaluate.backends.cpu import module
from kernelwright.evaluate.backends.cpu.module import ParameterCheck
from kernelwright.evaluate.sandbox.messages.candidates import Held
from kernelwright.evaluate.sandbox.process import TamperedError

WANTED = torch.randn(6, 5)


def told(tensor, **changed):
    given = {"address": tensor.data_ptr(), "dtype": str(tensor.dtype)[6:], "strides": tensor.stride()}
    return Held(**{**given, **changed})


def check(*places, wanted=WANTED):
    ParameterCheck(os.getpid(), lambda: places, lambda index, offset: wanted)(0, [0] * len(places))


@pytest.fixture(autouse=True)
def many(monkeypatch):
    monkeypatch.setattr(module, "ELEMENTS", 64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_copies_are_found_whatever_their_dtype_and_layout(dtype):
    own, number, nothing = WANTED.to(dtype), torch.tensor(3, dtype=dtype), torch.empty(0, dtype=dtype)
    turned = own.t().contiguous().t()
    check(told(own), None)
    check(told(turned))
    check(told(number), wanted=torch.tensor(3.0))
    check(told(nothing), wanted=torch.empty(0))
    with pytest.raises(TamperedError):
        check(told((WANTED + 1).to(dtype)))


@pytest.mark.parametrize(
    "lie",
    [{}, {"strides": (1,)}, {"dtype": "odd"}, {"strides": (1 << 60, 1 << 60)}, {"address": 8}],
    ids=["other values", "other shape", "no dtype", "nowhere", "not mapped"],
)
def test_what_is_not_there_is_tampering(lie):
    other = WANTED + 1
    with pytest.raises(TamperedError):
        check(told(other, **lie))


def test_a_module_that_tells_of_fewer_parameters_than_there_are():
    with pytest.raises(TamperedError, match="does not hold"):
        ParameterCheck(os.getpid(), tuple, lambda index, offset: WANTED)(0, [0])
