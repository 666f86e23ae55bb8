"""Replies of models to read kernels out of, and what is found in one."""

from kernelwright.propose.llm.parse import Kernel, NoKernel, parse
from kernelwright.records.chat import ChatReply

CPP = """#include <cmath>

extern "C" void kernel(const float* x, float* out) {
  for (int i = 0; i < 8 && x != out; ++i) out[i] = std::abs(x[i]);
}
"""
OTHER = CPP.replace("std::abs", "std::fabs")
LOOP, BETTER = CPP.split("\n")[3], OTHER.split("\n")[3]


def read_reply(text, language="cpp", parent="", finish="stop"):
    return parse(ChatReply(text=text, model="m", finish=finish), language, parent)


def candidate_in(text, language="cpp", **more):
    """The candidate in a reply, which has one."""
    found = read_reply(text, language, **more)
    assert isinstance(found, Kernel), found
    return found.candidate


def lines_in(text, language="cpp", **more):
    """The lines of the source in a reply, which has one."""
    return lines(candidate_in(text, language, **more).source)


def reason_in(text, language="cpp", **more):
    """Why a reply has no kernel."""
    found = read_reply(text, language, **more)
    assert isinstance(found, NoKernel), found
    return found.reason


def lines(source):
    return [line.rstrip() for line in source.strip().split("\n")]


def edit(old, new, end=">>>>>>> REPLACE\n"):
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n{end}"
