"""The warm parent: imports what is slow to import, never runs a threaded operation, and forks single-use children.

Started as `python -m kernelwright.evaluate.sandbox.warm FD`; it ends when the grader's end of FD closes. It knows no
task and no candidate. A torch operation here would start a thread pool, and a forked child's first parallel
operation would then wait for ever for threads that were not forked: so it only imports.
"""

import importlib
import os
import signal
import socket
import sys
import traceback

from kernelwright.evaluate.sandbox import kernel, wire
from kernelwright.evaluate.sandbox.jail import enter, leave_namespaces
from kernelwright.evaluate.sandbox.messages.entrypoints import MODULES, Birth, Born, Confined, Status, Warmed

SLOW = ("torch", "numpy")


def main() -> None:
    """Fork a child for every message until the grader is gone."""
    grader = socket.socket(fileno=int(sys.argv[1]))
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    for name in (*SLOW, *sys.argv[2:]):
        importlib.import_module(name)
    # What a keeper that was killed leaves comes here, and the kernel reaps it: above may be nobody who does.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wire.send(grader, Warmed(pid=os.getpid()))
    while True:
        try:
            data, descriptors = wire.packet(grader, 3)
        except EOFError:
            kernel.end_descendants()
            os._exit(0)  # torch takes seconds to leave an interpreter, and somebody waits for the end
        if os.fork() == 0:
            grader.close()
            _keep(Birth.model_validate_json(data), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(birth: Birth, descriptors: list[int]) -> None:
    """The keeper: leads the process group, lives outside the new process namespace, reports pid and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    control, log, status = descriptors
    isolated = leave_namespaces(birth.jail)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        os.close(status)
        _become_child(birth, isolated, control, log)
    for descriptor in (control, log):
        os.close(descriptor)
    report = socket.socket(fileno=status)
    wire.send(report, Born(pid=child, group=os.getpid(), alone=isolated))
    while True:
        # The kernel tells of a stop when the last thread has stopped.
        _, code = os.waitpid(child, os.WUNTRACED)
        if not (isolated or os.WIFSTOPPED(code)):
            kernel.end_descendants()
        wire.send(report, Status(code=code))
        if not os.WIFSTOPPED(code):
            os._exit(0)


def _become_child(birth: Birth, isolated: bool, control: int, log: int) -> None:
    code = 70
    try:
        with open(os.devnull) as nothing:  # noqa: PTH123 (a descriptor is wanted)
            os.dup2(nothing.fileno(), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        kernel.exit_on_abort()
        denied = enter(birth.jail, isolated)
        grader = socket.socket(fileno=control)
        # Said before there is any untrusted code that could say it.
        wire.send(grader, Confined(denied=denied))
        importlib.import_module(MODULES[birth.side]).serve(grader)
        code = 0
    except BaseException:  # noqa: BLE001 (last line of a forked child: it may not run its parent's code)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
