"""What ncu starts: `python -m kernelwright.evaluate.sides.profile_target ORDER.json LOG`.

It calls a candidate a few times and marks the last call for the profiler. It runs untrusted code, in the jail that ncu
was started in. An order to `trace` is traced here, without ncu, into LOG.
"""

import sys
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.messages.tools import ProfileOrder
from kernelwright.evaluate.sides.subject import WARM_CALLS, subject
from kernelwright.evaluate.sides.traced import traced


def main() -> None:
    """Warm up, then one call between the profiler's marks; or a trace."""
    order = ProfileOrder.model_validate_json(Path(sys.argv[1]).read_text())
    call = subject(order.subject)
    if order.trace:
        Path(sys.argv[2]).write_text(traced(call).model_dump_json())
        return
    for _ in range(WARM_CALLS):
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
