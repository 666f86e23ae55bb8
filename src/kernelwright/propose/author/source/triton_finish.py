"""The kernel that finishes a plan's totals, from the shares that the main kernel's programs left."""

from collections.abc import Sequence

from kernelwright.propose.author.plan.plan import Plan, Tensor
from kernelwright.propose.author.source.scope import Names
from kernelwright.propose.author.source.triton_expr import TritonScope
from kernelwright.propose.author.source.triton_kernel import START, joined, used
from kernelwright.propose.author.source.writer import Writer


def finish_kernel(plan: Plan, totals: Sequence[str], name: str) -> str:
    """The kernel that adds up the programs' shares and makes the scalar results of them."""
    w = Writer("    ")
    reads = used(plan, [o.expr for o in plan.scalars], stop=True)
    sizes = ["numel"] if plan.flat else ["rows", "cols"]
    pointers = [f"{t.identifier}_ptr" for t in (*reads, *(o.tensor for o in plan.scalars))]
    w.line("@triton.jit")
    with w.block(f"def {name}(", "):"):
        for argument in (*(f"{t}_ptr" for t in totals), *pointers, "programs", *sizes):
            w.line(f"{argument},")
        w.line("SIZE: tl.constexpr,")
    names = Names({"slot", "start", "shares", "inside", *totals})
    with w.block('    """One program adds up what the others left, in double."""'):
        for total, text in zip(plan.totals, totals, strict=True):
            w.line(f"{text} = tl.full([SIZE], {START[total.op]}, tl.float64)")
        with w.block("for start in tl.range(0, programs, SIZE):"):
            w.line("slot = start + tl.arange(0, SIZE)")
            for total, text in zip(plan.totals, totals, strict=True):
                load = f"tl.load({text}_ptr + slot, mask=slot < programs, other={START[total.op]})"
                w.line(f"shares = {load}")
                w.line(joined(total.op, text, "shares.to(tl.float64)"))
        for total, text in zip(plan.totals, totals, strict=True):
            w.line(f"{text} = tl.{total.op}({text}, axis=0).to(tl.float32)")
            names.values[total.key] = text
        scope = TritonScope(plan, w, names)
        texts = scope.write([o.expr for o in plan.scalars])
        for output, text in zip(plan.scalars, texts, strict=True):
            w.line(f"tl.store({output.tensor.identifier}_ptr, {text})")
    return w.text()


def finish_reads(plan: Plan) -> list[Tensor]:
    """Arguments that the finishing kernel reads."""
    return used(plan, [o.expr for o in plan.scalars], stop=True)
