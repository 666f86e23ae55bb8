"""A newcomer's first hour, as questions to a command line: `python benchmarks/first_hour.py --out FILE [--tree CHECKOUT]`.

Each question drives `python -m kernelwright` of a checkout, or a drop-in that it wrote, and knows what a good answer is; so
the same questions can be put to an older commit: `git worktree add OLD COMMIT`, then `--tree OLD`. Needs a C++ compiler and no
GPU. Exit code 0: every answer is good.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import first_hour_tasks as texts
from campaign import Campaign, Row, command
from provenance import commit_and_date

HERE = Path(__file__).parents[1]
CPU = ("--target", "cpu")
GOOD = "as wanted"


class Said(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def short(self) -> str:
        """Its exit code and its last line, for the table."""
        lines = [line.strip() for line in f"{self.out}\n{self.err}".splitlines() if line.strip()]
        return f"{self.code}: {lines[-1][:150] if lines else 'nothing'}"

    @property
    def words(self) -> str:
        """All that it said, as one line."""
        return " ".join(f"{self.out} {self.err}".split())


class Tree:
    """A checkout whose command line is asked, in a folder of the newcomer's own."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root.resolve(), folder
        for name, text in texts.FILES.items():
            (folder / name).write_text(text, "utf-8")

    def __call__(self, *arguments: str) -> Said:
        """One command line."""
        return self.python("-m", "kernelwright", *arguments)

    def python(self, *arguments: str, **environment: str) -> Said:
        """Python in the newcomer's folder, with this checkout's package."""
        given = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(self.root / "src"), **environment}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=given, capture_output=True, text=True, check=False
        )
        return Said(done.returncode, done.stdout, done.stderr)

    @cache  # noqa: B019  one tree lives as long as the program
    def optimized(self, task: str, target: str = "cpu") -> Said:
        """One proposal, its drop-in beside the task even if it is slow."""
        keeps = "--keep-slower" in self("optimize", "--help").out
        slow = ("--keep-slower",) if keeps else ()
        return self("optimize", task, "--target", target, "--budget", "1", "--json", "-o", f"{task}-{target}.py", *slow)


Answer = tuple[bool, str]


def drop_in(
    circumstance: str, task: str = "dropout.py", target: str = "cpu", **environment: str
) -> Callable[[Tree], Answer]:
    """Whether a drop-in is right in one circumstance (`first_hour_tasks.CIRCUMSTANCES`)."""

    def ask(tree: Tree) -> Answer:
        written = tree.optimized(task, target)
        if not (tree.folder / f"{task}-{target}.py").exists():
            return False, f"no drop-in: {written.short}"
        said = tree.python("circumstances.py", f"{task}-{target}.py", circumstance, **environment)
        return said.code == 0, GOOD if said.code == 0 else said.short

    return ask


def says(line: str, code: int, words: str) -> Callable[[Tree], Answer]:
    """Whether a command line ends with this exit code and these words (a pattern)."""

    def ask(tree: Tree) -> Answer:
        said = tree(*shlex.split(line))
        good = said.code == code and re.search(words, said.words) is not None and "Traceback" not in said.err
        return good, GOOD if good else said.short

    return ask


def written_file_is_checked(tree: Tree) -> Answer:
    """A file that `-o` wrote, on the target that it is for."""
    tree.optimized("relu.py")
    return says("check relu.py relu.py-cpu.py --quick", 0, "1 kernel of its own")(tree)


def slower_is_not_written(tree: Tree) -> Answer:
    """Half precision on a CPU is slower than eager."""
    said = tree("optimize", "half.py", *CPU, "--budget", "1", "-o", "half-best.py")
    written = (tree.folder / "half-best.py").exists()
    good = said.code == 11 and not written and "PyTorch stays" in said.words
    return good, GOOD if good else f"{said.short}; drop-in {'written' if written else 'not written'}"


def relu_is_not_slower(tree: Tree) -> Answer:
    """The ReLU that g++ made no vector code of."""
    best = json.loads(tree.optimized("relu.py").out)["best"]["speedup_eager"]
    told = f"{best['median']:.2f}x eager ({best['low']:.2f} to {best['high']:.2f})"
    return best["high"] >= 0.9, told


def load_is_told(tree: Tree) -> Answer:
    """A check beside two processes that only count."""
    with _busy(2):
        said = tree("check", "relu.py", "relu.cpp")
    good = "busy" in said.words
    return good, GOOD if good else said.short


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def refusal_helps(tree: Tree) -> Answer:
    """An operation that the author does not write: the cure, nothing measured, no run left."""
    before = set((tree.folder / "runs").glob("*"))
    said = tree("optimize", "bessel.py", *CPU, "--budget", "1")
    missing = [
        word for word in ("--model openai:NAME", "kernelwright mcp", "kernelwright check") if word not in said.words
    ]
    extra = [word for word in ("memory bandwidth", "resume") if word in said.words]
    left = set((tree.folder / "runs").glob("*")) - before
    good = said.code == 7 and not missing and not extra and not left
    return good, GOOD if good else f"{said.code}: lacks {missing}, says {extra}, leaves {len(left)} run"


def corrupt_run_hides_none(tree: Tree) -> Answer:
    """Of two runs one has a journal of garbage."""
    folder = json.loads(tree.optimized("relu.py").out)["folder"]
    bad = tree.folder / "other" / "20260101-000000-bad-0000"
    bad.mkdir(parents=True, exist_ok=True)
    (bad / "run.sqlite").write_bytes(b"garbage" * 100)
    (bad.parent / "good").symlink_to(tree.folder / folder) if not (bad.parent / "good").exists() else None
    said = tree("runs", "--run-dir", "other")
    good = "other/good " in said.out
    return good, GOOD if good else said.short


def report_says_how_to_use_it(tree: Tree) -> Answer:
    """The page of a run: the path, an import, a button that copies."""
    page = (tree.folder / json.loads(tree.optimized("relu.py").out)["report"]).read_text("utf-8")
    missing = [word for word in ("ModelNew(", "model_new.py", "Copy") if word not in page]
    return not missing, GOOD if not missing else f"the page has no {missing}"


def report_over_runs(tree: Tree) -> Answer:
    """One page over several runs."""
    tree.optimized("relu.py")
    said = tree("report", "runs")
    return said.code == 0, GOOD if said.code == 0 else said.short


def readme_check_runs(tree: Tree) -> Answer:
    """The files of the README's `check` line are there."""
    line = re.search(r"(?m)^kernelwright check (\S+) (\S+)", (tree.root / "README.md").read_text("utf-8"))
    missing = [name for name in line.groups() if not (tree.root / name).is_file()] if line else ["a line"]
    return not missing, GOOD if not missing else f"no such file: {missing}"


def readme_begins_with_a_win(tree: Tree) -> Answer:
    """The first row of figures is faster than both baselines."""
    text = (tree.root / "README.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if re.match(r"\|.*[0-9]×", line))
    good = all(float(ratio) > 1.0 for ratio in re.findall(r"([0-9.]+)×", row))
    return good, GOOD if good else row


class Question(NamedTuple):
    """A point of the first hour, what is asked, and who asks it."""

    point: int
    what: str
    ask: Callable[[Tree], Answer]


NO_COMPILER = {"CXX": "no-such-compiler", "PATH": "/nonexistent"}
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
QUESTIONS = (
    Question(1, "drop-in: train() drops", drop_in("train")),
    Question(1, "drop-in: a changed eps counts", drop_in("eps")),
    Question(1, "drop-in: hooks of parts run", drop_in("hook")),
    Question(1, "drop-in: fake tensors", drop_in("fake")),
    Question(1, "drop-in: no compiler", drop_in("plain", XDG_CACHE_HOME="nothing-built", **NO_COMPILER)),
    Question(1, "drop-in: fullgraph", drop_in("fullgraph")),
    Question(1, "drop-in: export", drop_in("export")),
    Question(1, "drop-in: vmap", drop_in("vmap")),
    Question(1, "drop-in: what it serves is told", drop_in("told")),
    Question(1, "Triton drop-in, no GPU", drop_in("plain", "relu.py", "sm_90", **NO_GPU)),
    Question(2, "check: a module of PyTorch's", says("check relu.py library.py --quick", 0, "0 kernels of its own")),
    Question(2, "check: a file that -o wrote", written_file_is_checked),
    Question(3, "a slower kernel is not written", slower_is_not_written),
    Question(4, "ReLU times two beside eager", relu_is_not_slower),
    Question(5, "a busy machine is told", load_is_told),
    Question(6, "a refusal helps", refusal_helps),
    Question(7, "a corrupt run hides no other", corrupt_run_hides_none),
    *(Question(7, line, says(line, code, words)) for line, code, words in texts.LINES),
    Question(8, "the report says how to use it", report_says_how_to_use_it),
    Question(8, "a page over several runs", report_over_runs),
    Question(9, "README: its check line runs", readme_check_runs),
    Question(9, "README: begins with a win", readme_begins_with_a_win),
)


async def measure(campaign: Campaign) -> None:
    """Ask what is not answered yet."""
    root = Path(campaign.asked.tree)
    where = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    campaign.begin({**commit_and_date(), "tree": commit})
    asked = {q.what: q for q in QUESTIONS if str(q.point) in campaign.asked.points}
    with TemporaryDirectory() as scratch:
        tree = Tree(root, Path(scratch))
        for what in campaign.left(campaign.chosen(asked)):
            good, words = asked[what].ask(tree)
            campaign.put({"point": asked[what].point, "what": what, "good": good, "said": words.replace(scratch, ".")})


def table(rows: list[Row]) -> str:
    """A line for each question."""
    return "\n".join(f"{r['point']} {r['what']:58} {'good' if r['good'] else 'BAD '} {r['said']}" for r in rows)


def main() -> int:
    """Ask, and print the answers."""
    parser = command(__doc__, seconds=36000.0)
    parser.add_argument("--tree", default=str(HERE))
    parser.add_argument("--points", default="123456789", help="which of the nine, such as 79")
    campaign = Campaign(parser.parse_args(), key=("what",), same=("tree",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)
    return int(not all(row["good"] for row in campaign.rows))


if __name__ == "__main__":
    sys.exit(main())
