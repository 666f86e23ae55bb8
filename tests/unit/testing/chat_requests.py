"""Requests as the loop would send them, and a small admitted task, for the drill's tests."""

import json
import re
import urllib.request

from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_task

TASK = sample_task()
CUDA = sample_task(Target(kind="cuda", arch="sm_90", present=True))
ROLE_KEYS = {
    "judge-repair": '```json\n{"critical_issue": "", "why_it_matters": "", "minimal_fix_hint": ""}\n```',
    "judge-improve": '```json\n{"metrics": [], "bottleneck": "", "method": "", "plan": ""}\n```',
    "reflector": "Plain text, at most 150 words, no code.",
    "coder": "One fenced block tagged `cpp` with one complete C++17 file.",
}
GPP = "kernel.cpp:{line}:3: error: {what}"
MISMATCH = "Functional Failure: Kernel produced incorrect output (value): output 0 at [3]: expected 1.5, got 1.6"
LATENCY = "Bottleneck: latency.\n\n```text\n1. Latency-bound: it reaches only 4% of the measured bandwidth.\n```"


def prompt(role="coder", task=TASK, **sections):
    """One user message with headings; keyword `compiler_log` becomes `## Compiler log`."""
    parts = [("Task", "Write a kernel."), ("Reference", f"```python\n{task.source.source}```")]
    parts += [(name.replace("_", " ").capitalize(), body) for name, body in sections.items()]
    parts.append(("Reply", ROLE_KEYS[role]))
    return "\n\n".join(f"## {title}\n\n{body}" for title, body in parts)


def candidate(code):
    return f"Attempt 0, in cpp.\n\n```cpp\n{code}\n```"


def request(*messages, **fields):
    roles = ("user", "assistant")
    turns = [m if isinstance(m, dict) else {"role": roles[n % 2], "content": m} for n, m in enumerate(messages)]
    return {"model": "drill-1", "messages": turns, **fields}


def post(server, body, timeout=10):
    """The decoded body of an answer."""
    call = urllib.request.Request(
        server.base_url + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(call, timeout=timeout) as answer:
        return json.loads(answer.read())


def say(server, *messages, **fields):
    """The text of an answer."""
    return post(server, request(*messages, **fields))["choices"][0]["message"]["content"]


def code(text):
    return re.findall(r"```(?:cpp|python|cuda)\n(.*?)\n```", text, re.DOTALL)[-1]


def burdens(text):
    """How many handicaps a short C++ kernel has."""
    return sum(text.count(f"  drill::{name}();") for name in ("regions", "scratch", "barriers"))
