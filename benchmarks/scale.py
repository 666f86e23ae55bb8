"""What reading costs as runs grow: `python benchmarks/scale.py --out FILE`.

Makes runs that never happened, of a hundred attempts and of twenty thousand, with dialogues and without, and a folder of two
thousand short ones. Then every command that reads them runs in a process of its own. Written down: seconds, the largest
resident memory in MB, and the size of the page in MB. `--attempts` and `--runs` make others, such as small ones to try it.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path

from campaign import Campaign, Row, command

from kernelwright.engine.listing import keep_summary
from kernelwright.engine.summary import summarize
from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest, Usage
from kernelwright.records.evaluation import OUTCOMES, Evaluation, Measured
from kernelwright.records.measure import Side
from kernelwright.records.run import Message, Outcome
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_attempt, sample_card

SOURCE = "".join(f"    total += x[{n}] * y[{n}];  // the {n}th term of the sum\n" for n in range(70))
"""About as long as a kernel of a search."""
BLOCKS, GOOD = 40, 0.7
"""Blocks of a search's measurement; the share of attempts that are measured."""
UNKEPT = ", nothing kept"
"""The first time after an update, or of a folder that was copied: no summary is of use."""


def write_run(folder: Path, attempts: int, dialogues: bool) -> Path:
    """A finished run that gets better slowly, with failures of every kind on the way."""
    drawn, best = random.Random(attempts), 0
    with closing(RunStore.create(folder, sample_card())) as store:
        for number in range(attempts):
            attempt = _attempt(number, drawn)
            if isinstance(attempt.evaluation, Measured):
                best = number
            store.ask(attempt.proposal_request)
            for message in _dialogue(number) if dialogues else ():
                store.message(message)
            store.propose(number, [attempt.proposal])
            store.evaluate(f"key {number}", attempt.evaluation)
            store.append(attempt)
            store.tell(number, drawn.random())
        store.finish(Outcome(best=best, final=_final(attempt, best), stopped=f"proposals spent: {attempts}"))
        store.afterwards(partial(keep_summary, summarize(store)))  # as a run's session does
    return folder


def _attempt(number: int, drawn: random.Random) -> Attempt:
    outcome = "measured" if drawn.random() < GOOD or not number else drawn.choice(tuple(OUTCOMES))
    found = sample_attempt(number, outcome, drawn.lognormvariate(0.1, 0.4) * (1 + number / 1e5))
    parents = (drawn.randrange(number),) if number else ()
    asked = ProposalRequest(number=number, intent="improve" if parents else "seed", parents=parents)
    candidate = found.proposal.candidate.model_copy(update={"source": f"// attempt {number}\n{SOURCE}"})
    proposal = found.proposal.model_copy(update={"candidate": candidate, "note": f"unroll {number % 31} times"})
    return found.model_copy(
        update={"proposal_request": asked, "proposal": proposal, "evaluation": _sampled(found.evaluation, drawn)}
    )


def _sampled(found: Evaluation, drawn: random.Random) -> Evaluation:
    """The same measurement with as many samples as a search takes."""
    if not isinstance(found, Measured):
        return found
    arms = tuple(
        Side(name=arm.name, samples_us=tuple(arm.samples_us[0] * drawn.lognormvariate(0, 0.03) for _ in range(BLOCKS)))
        for arm in found.timing.arms
    )
    return found.model_copy(update={"timing": found.timing.model_copy(update={"arms": arms})})


def _final(last: Attempt, best: int) -> Attempt:
    judged = sample_attempt(best, "measured", 2.0)
    return judged.model_copy(update={"proposal": last.proposal})


def _dialogue(number: int) -> list[Message]:
    prompt = ChatRequest(messages=(ChatMessage(role="user", text=SOURCE * 2),))
    reply = ChatReply(text=SOURCE, model="none", usage=Usage(prompt=2000, completion=1000), usd=0.004)
    said = (("prompt", prompt.model_dump_json()), ("reply", reply.model_dump_json()))
    return [
        Message(number=2 * number + step, proposal_request=number, step=step, role="coder", kind=kind, text=text)
        for step, (kind, text) in enumerate(said)
    ]


def cost_of(arguments: list[str], how: str = "") -> Row:
    """Seconds and the largest resident MB of one command."""
    command, begun = [sys.executable, "-m", "kernelwright", *arguments], time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as empty,
        subprocess.Popen(
            command, stdout=subprocess.DEVNULL, env=os.environ | ({"XDG_CACHE_HOME": empty} if how == UNKEPT else {})
        ) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = {"seconds": round(time.perf_counter() - begun, 2), "cpu_s": round(used.ru_utime + used.ru_stime, 2)}
    return {**seconds, "resident_mb": round(used.ru_maxrss / 1024), "exit": process.returncode}


def _page_mb(folder: Path) -> float:
    return round(sum(page.stat().st_size for page in folder.glob("report.html")) / 1e6, 2)


async def measure(campaign: Campaign, attempts: int, runs: int, place: Path) -> None:
    """A row for each command and each run, then for the folder of many."""
    await campaign.begin_on_device()
    for count, dialogues in ((100, False), (attempts, False), (attempts, True)):
        run = write_run(place / f"{count}-{dialogues}" / "run", count, dialogues)
        size = round(sum(file.stat().st_size for file in run.iterdir()) / 1e6, 1)
        for verb, how in (("report", ""), ("runs", ""), ("runs", UNKEPT), ("resume", "")):
            of = f"{count} attempts{', with dialogues' * dialogues}"
            where = ["--run-dir", str(run.parent)] if verb == "runs" else [str(run)]
            row = {"of": of, "command": verb + how, "journal_mb": size}
            campaign.put({**row, **cost_of([verb, *where], how), "page_mb": _page_mb(run)})
    many = place / "many"
    for number in range(runs):
        write_run(many / f"run-{number:05}", 4, dialogues=False)
    for verb, how in (("runs", ""), ("runs", ", again"), ("runs", UNKEPT), ("report", "")):
        where = ["--run-dir", str(many)] if verb == "runs" else [str(many)]
        campaign.put({"of": f"{runs} runs", "command": verb + how, **cost_of([verb, *where], how)})


def table(rows: list[Row]) -> str:
    """A line for each command."""
    return "\n".join(
        f"{r['of']:34} {r['command']:12} {r['seconds']:8} s {r['resident_mb']:6} MB {r.get('page_mb', ''):>8}"
        for r in rows
    )


if __name__ == "__main__":
    options = command(__doc__)
    options.add_argument("--attempts", type=int, default=20_000)
    options.add_argument("--runs", type=int, default=2000)
    asked = options.parse_args()
    campaign = Campaign(asked, key=("of", "command"))
    memory = Path("/dev/shm")  # a commit is on the disk when it returns: eighty thousand would take as many seconds
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        campaign.run(lambda: measure(campaign, asked.attempts, asked.runs, Path(folder)))
    campaign.show(table)
