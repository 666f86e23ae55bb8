"""How often cheats are refused and honest kernels measured: `python benchmarks/attacks.py --target cpu|cuda --out FILE`.

On the CPU these are all kernels of `tests/cheats` (the outsider's, the insider's, their honest twins, the honest folder,
the odd ones, those of unusual build), on a GPU those of `tests/gpu` (cheats, twins, honest kernels). Each is judged as in a
search, `--times` times, in rounds: a pass that is cut has met all of them. A cheat counts as refused too where it is measured
and gains nothing over its twin. `--effort verify` asks of honest kernels alone whether they are right, each time on other
cases, which takes a fraction of the time; with `--target sm_90` the interpreter is asked of those in Triton. `--beside-busy`
keeps another process at work meanwhile. A part has all kernels of its tasks. Exit code 0: nothing is left, cheats were refused
in every judgement (beside a busy process in nine of ten) and honest kernels in none.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from campaign import Campaign, Row, command, of_part
from figures import short
from known_kernels import Kernel, in_the_interpreter, on_cpu, on_gpu

from kernelwright.engine.summary import check_of
from kernelwright.errors import KernelwrightError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.evaluation import Evaluation, Measured, is_right
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, Task, TaskSource

POLICY = Policy(baselines=("eager",), final_baselines=(), run_limit_s=60)
BRIEF = {"search_seconds": 2.0, "final_seconds": 5.0, "final_blocks": 8}
"""On a GPU, whose time is scarce: what refuses a cheat is no matter of more blocks."""
CUT_S = 30.0
"""How much later than the time is over a judgement may end; one that does not is begun anew by the next call."""
MOST_BROKEN = 5
"""Judgements without a verdict in a row, after which the pass ends: the machine is at fault, not the kernels."""
NOISE = 1.25
"""Times its twin's upper bound that the lower bound of a cheat may be: they are timed in two contests."""
BUSY_SHARE = 0.9
"""Judgements of a cheat in which it must be refused beside a busy process."""
BUSY = {
    "cpu": "import torch\ntorch.set_num_threads(1)\nx = torch.randn(1 << 22)\nwhile True:\n    x = (x * 1.01).tanh_()",
    "cuda": "import torch\nx = torch.randn(4096, 4096, device='cuda')\nwhile True:\n    x = (x @ x).tanh_(); "
    "torch.cuda.synchronize()",
}
KERNELS = {"cpu": on_cpu, "cuda": on_gpu}
WORDS = (("cheats", True), ("honest", False))


class Pass:
    """Judges what is left, round by round, until the time is over; a row counts a kernel's judgements."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, asked = campaign, campaign.asked
        self.times, self.beside, self.verify = asked.times, asked.beside_busy, asked.effort == "verify"
        self.kind = asked.target if asked.target in KERNELS else "absent"
        every = list(KERNELS.get(self.kind, in_the_interpreter)())
        self.twins = {one.name: one for one in every}
        wanted = [one for one in every if campaign.named(one.name) and not (self.verify and one.cheat)]
        self.chosen = with_its_task(wanted, asked.part)
        self.policy = POLICY.model_copy(update=BRIEF if self.kind == "cuda" else {})
        self._broken = 0
        """Judgements in a row that broke."""
        self._admitted: tuple[TaskSource, Task | TaskError] | None = None
        """The task of the last kernel."""

    async def measure(self) -> None:
        """Judge, round by round; a task is admitted anew in each."""
        head = {"times": self.times, "beside_busy": self.beside, "effort": self.campaign.asked.effort}
        with _busy(self.kind, self.beside):
            async with self.campaign.referee(self.policy, **head) as (referee, target):
                try:
                    async with asyncio.timeout(max(0.0, self.campaign.until - time.monotonic()) + CUT_S):
                        while (kernels := self.next_round()) and not self._over():
                            self._admitted = None
                            for one in kernels:
                                if not self._over():
                                    self.add(one, await self._judged(referee, target, one))
                except TimeoutError:
                    sys.stderr.write("the time is over; the same command goes on\n")

    def next_round(self) -> list[Kernel]:
        """The kernels that lack most judgements, those of one task together."""
        most = max(map(self.left, self.chosen), default=0)
        lacking = [kernel for kernel in self.chosen if self.left(kernel) == most > 0]
        return sorted(lacking, key=lambda kernel: (kernel.task.name, kernel.task.source))

    def _over(self) -> bool:
        return self.campaign.over() or self._broken >= MOST_BROKEN

    def row(self, one: Kernel) -> Row:
        """What is known of a kernel."""
        new = {"kernel": one.name, "cheat": one.cheat, "key": one.key, "judged": 0, "as_it_must": 0, "outcomes": {}}
        return self.campaign.by_key.get(one.key, new)

    def left(self, one: Kernel) -> int:
        """Judgements that it still needs: a fault of the machine is none, unless it comes again and again."""
        row = self.row(one)
        broken = row["outcomes"].get("broken", 0)
        return max(0, self.times - row["judged"] + (broken if broken < MOST_BROKEN else 0))

    def add(self, one: Kernel, found: Row) -> None:
        """Count a judgement in the kernel's row; the judgement itself goes to the raw file."""
        row = {**self.row(one)}
        outcome = found["outcome"]
        row["outcomes"] = {**row["outcomes"], outcome: row["outcomes"].get(outcome, 0) + 1}
        row |= {"judged": row["judged"] + 1, "as_it_must": row["as_it_must"] + bool(found["as_it_must"])}
        row["seconds"] = round(row.get("seconds", 0.0) + found["seconds"], 2)
        if "gain" in found:
            row["gain"] = max(found["gain"], row.get("gain", 0.0))
        if not found["as_it_must"]:
            row["why"] = found["why"]
        self._broken = self._broken + 1 if outcome == "broken" else 0
        self.campaign.put({**row, "judgement": found})

    async def _judged(self, referee: Referee, target: Target, one: Kernel) -> Row:
        begin = time.monotonic()
        try:
            task = await self._task(referee, target, one.task)
            row = await self._fate(referee, task, one)
        except TaskError as error:
            row = {"outcome": "task refused", "why": short(str(error)), "as_it_must": False}
        except KernelwrightError as error:
            row = {"outcome": "broken", "why": short(str(error)), "as_it_must": False}
        return {**row, "seconds": round(time.monotonic() - begin, 2)}

    async def _task(self, referee: Referee, target: Target, source: TaskSource) -> Task:
        """The task, admitted once for its kernels in a row.

        Raises:
            TaskError: it was refused.
        """
        if self._admitted is None or self._admitted[0] != source:
            try:
                self._admitted = (source, await referee.admit(source, target))
            except TaskError as error:
                self._admitted = (source, error)
        found = self._admitted[1]
        if isinstance(found, TaskError):
            raise found
        return found

    async def _evaluated(self, referee: Referee, task: Task, one: Kernel) -> Evaluation:
        referee.policy = self.policy.model_copy(update=dict(one.options))
        try:
            return await referee.evaluate(task, one.candidate, "verify" if self.verify else one.effort)
        finally:
            referee.policy = self.policy

    async def _fate(self, referee: Referee, task: Task, one: Kernel) -> Row:
        """The outcome, and whether it is what it must be: of a cheat that is measured, its twin is asked as well."""
        environment = await referee.environment(task.target)
        found = await self._evaluated(referee, task, one)
        mine = check_of(task, environment, one.candidate, found)
        row: Row = {"outcome": found.outcome, "why": short(mine.reason)}
        if not one.cheat:
            return {**row, "as_it_must": is_right(found) if self.verify else isinstance(found, Measured)}
        if not isinstance(found, Measured):
            return {**row, "as_it_must": True}
        twin = self.twins.get(one.twin)
        if twin is None:
            return {**row, "as_it_must": False}
        other = check_of(task, environment, twin.candidate, await self._evaluated(referee, task, twin))
        if mine.speedup_eager is None or other.speedup_eager is None:
            return {**row, "why": short(f"its twin is {other.outcome}: {other.reason}"), "as_it_must": False}
        gain = mine.speedup_eager.low / other.speedup_eager.high
        return {**row, "gain": round(gain, 3), "as_it_must": gain <= NOISE}

    def share(self, one: Kernel) -> float:
        """Of its judgements, how many came out as they must."""
        row = self.row(one)
        return row["as_it_must"] / row["judged"] if row["judged"] else 0.0

    def summary(self, rows: list[Row]) -> Row:
        """Counts over all kernels."""
        found: Row = {}
        for word, cheat in WORDS:
            kernels = [kernel for kernel in self.chosen if kernel.cheat == cheat]
            least = BUSY_SHARE if cheat and self.beside else 1.0
            found |= {
                word: len(kernels),
                f"{word}_judgements": sum(self.row(kernel)["judged"] for kernel in kernels),
                f"{word}_as_they_must": sum(self.row(kernel)["as_it_must"] for kernel in kernels),
                f"{word}_that_hold": sum(self.share(kernel) >= least for kernel in kernels),
                f"{word}_left": sum(map(self.left, kernels)),
            }
        return found

    def table(self, rows: list[Row]) -> str:
        """Each kernel that was not always what it must be, and the counts."""
        lines = []
        for one in self.chosen:
            if self.share(one) < 1 and (row := self.row(one))["judged"]:
                ends = ", ".join(f"{count} {outcome}" for outcome, count in row["outcomes"].items())
                lines.append(f"{one.name:<40} {row['as_it_must']} of {row['judged']}: {ends}: {row['why']}"[:300])
        counts = self.summary(rows)
        for word, end in (("cheats", "refused"), ("honest", "right" if self.verify else "measured")):
            lines.append(
                f"{word}: {counts[f'{word}_as_they_must']} of {counts[f'{word}_judgements']} judgements {end}; "
                f"{counts[f'{word}_that_hold']} of {counts[word]} kernels hold, {counts[f'{word}_left']} judgements left"
            )
        return "\n".join(lines)


def with_its_task(kernels: Sequence[Kernel], part: str) -> list[Kernel]:
    """Those of a part, of which all kernels of a task are in one."""
    mine = set(of_part(list(dict.fromkeys(kernel.task.source for kernel in kernels)), part))
    return [kernel for kernel in kernels if kernel.task.source in mine]


@contextmanager
def _busy(kind: str, wanted: bool) -> Iterator[None]:
    other = subprocess.Popen([sys.executable, "-c", BUSY[kind]]) if wanted else None
    try:
        yield
    finally:
        if other is not None:
            other.kill()
            other.wait()


def opened(arguments: Sequence[str] | None = None) -> Pass:
    """The pass of a command line."""
    parser = command(__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--effort", choices=("search", "verify"), default="search")
    parser.add_argument("--beside-busy", action="store_true")
    asked = parser.parse_args(arguments)
    campaign = Campaign(asked, key=("key",), same=("beside_busy", "effort"), raw=("judgement",))
    one = Pass(campaign)
    campaign.summary = one.summary
    return one


def main() -> int:
    """One pass and a short table."""
    one = opened()
    one.campaign.run(one.measure)
    one.campaign.show(one.table)
    counts = one.summary([])
    held = all(counts[f"{w}_that_hold"] == counts[w] and not counts[f"{w}_left"] for w, _ in WORDS)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
