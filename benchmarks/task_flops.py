"""How much arithmetic a task asks for: what PyTorch's own counter says of its products, on tensors without memory.

The OpGraph has products before they are decomposed, which that counter does not know by name.
"""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.utils.flop_counter import FlopCounterMode


def flops(source: str) -> int:
    """Operations of the products, convolutions and attention of a task's text, as many as eager does; two for each factor.

    Zero where there are none, or where their number depends on values.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "task.py"
        file.write_text(source)
        task = runpy.run_path(str(file))
    with torch.device("meta"), FlopCounterMode(display=False) as counter, torch.no_grad():
        try:
            task["Model"](*task["get_init_inputs"]())(*task["get_inputs"]())
        except NotImplementedError:
            return 0
    return int(counter.get_total_flops())
