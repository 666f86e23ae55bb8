"""A float32 product's error and speed beside the vendor's: `python benchmarks/product_errors.py --target cuda --out FILE`.

The author's default for the square product of the field, on uniform and on normal inputs: the referee's own figures of
error against fp64, eager's beside them, and the ratios of a comparison in turns.
"""

from campaign import Campaign, Row, command
from figures import figures
from options import moves
from suite import ROOT

from kernelwright.evaluate.referee import Referee
from kernelwright.records.evaluation import Incorrect, Measured
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.files import with_size
from kernelwright.tasks.table import read_task

TASK = ROOT / "field" / "operators" / "matmul_square.py"
INPUTS = {"uniform": "torch.rand(", "normal": "torch.randn("}


async def measure(campaign: Campaign) -> None:
    """The author's first kernel on either kind of input."""
    size = campaign.asked.size
    async with campaign.referee(size=size) as (referee, target):
        source = read_task(with_size(TASK, size))
        for name in campaign.left(INPUTS):
            text = source.source.replace(INPUTS["uniform"], INPUTS[name])
            campaign.put({"inputs": name, **await _row(referee, source.model_copy(update={"source": text}), target)})


async def _row(referee: Referee, source: TaskSource, target: Target) -> Row:
    task = await referee.admit(source, target)
    found = await referee.evaluate(task, next(moves(task))[1])
    if not isinstance(found, Measured | Incorrect):
        return figures(found)
    # Relative to fp64, by input distribution: the kernel's and eager's.
    errors = {case.distribution: [case.error, case.reference_error] for case in found.accuracy.cases}
    return {"errors": errors, **figures(found)}


def main() -> None:
    """Measure, and print the rows."""
    parser = command(__doc__, "cuda")
    parser.add_argument("--size", default="full")
    campaign = Campaign(parser.parse_args(), key=("inputs",), same=("target", "size"))
    campaign.run(lambda: measure(campaign))
    campaign.show(lambda rows: "\n".join(map(str, rows)))


if __name__ == "__main__":
    main()
