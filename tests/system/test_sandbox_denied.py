"""Hosts that deny parts of the sandbox: `strict` refuses, `auto` says what is lost, and what is left still holds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.evaluate.sandbox.jail import LOST
from lanes import sampled

SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[2])
from bad_input import AFFINE, GOOD, QUICK, Asked
from kernelwright.errors import MachineError
asked = Asked(QUICK.model_copy(update={"isolation": sys.argv[1]}))
found = {}
try:
    environment = asked.environment()
    found |= {"isolation": environment.isolation, "denied": environment.denied}
    task = asked.admit(AFFINE)
    found["good"] = asked.judge(task, GOOD).outcome
    for name, deed in {"fork": "fork()", "write": 'open("/var/tmp/kernelwright-denied", O_CREAT | O_WRONLY, 0600)'}.items():
        hostile = GOOD.replace("{", "{ if (" + deed + " >= 0) return;", 1)
        found[name] = asked.judge(task, "#include <fcntl.h>\\n#include <unistd.h>\\n" + hostile).outcome
except MachineError as error:
    found["refused"] = str(error)
finally:
    asked.close()
print(json.dumps(found))
"""


def on_a_host_that_denies(parts, isolation):
    here = str(Path(__file__).parent)
    line = [sys.executable, "-m", "kernelwright.testing.deny", parts, sys.executable, "-c", SCRIPT, isolation, here]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=250)
    Path("/var/tmp/kernelwright-denied").unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "parts", sampled(["namespaces", "tmpfs", "landlock", "namespaces,landlock"], lambda parts: parts == "tmpfs")
)
def test_what_is_lost_is_said(parts):
    found = on_a_host_that_denies(parts, "auto")
    lost = {line.split(":")[0] for line in found["denied"]}
    assert lost >= set(parts.split(","))
    assert lost | set(found["isolation"]) == set(LOST)
    assert not lost & set(found["isolation"])
    assert all(line == f"{part}: {LOST[part]}" for line in found["denied"] for part in [line.split(":")[0]])
    assert found["good"] == "measured"
    # What is left still holds: a kernel that cannot do what it tries goes on to do its work.
    assert found["fork"] == "measured"
    assert (found["write"] == "measured") == ("landlock" not in lost)


@pytest.mark.parametrize("parts", sampled(["namespaces", "landlock"], lambda _: False))
def test_strict_refuses(parts):
    found = on_a_host_that_denies(parts, "strict")
    assert f"this host denies {parts}, so that {LOST[parts].split(',')[0]}" in found["refused"]
    assert "good" not in found


def test_no_such_part():
    line = [sys.executable, "-m", "kernelwright.testing.deny", "gravity", "true"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "known are namespaces, tmpfs, landlock" in done.stderr
