"""Command lines that a new user types: refused at once with the cure, and nothing is hidden."""

import sqlite3
from pathlib import Path

import pytest

from kernelwright.errors import ProposeError
from kernelwright.propose.author.author import Author
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer

CPU = ("--target", "cpu")
KERNEL = 'extern "C" void f(const float* x, float* y) {}\n'


class Untouched(ScriptedEvaluator):
    """Fails the test where anything at all is judged."""

    async def admit(self, source, target):
        raise AssertionError("the task was admitted although the command line cannot work")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("optimize", "abs.py", *CPU, "-o", "none/x.py"), 5, "-o: none/x.py cannot be written"),
        (("optimize", "abs.py", *CPU, "-o", "."), 5, "-o: . is a folder"),
        (("optimize", "abs.py", *CPU, "-o", "./abs.py"), 2, "that is the task itself, which would be lost"),
        (
            ("optimize", "a.receipt.json", *CPU, "-o", "a.py"),
            2,
            "its receipt would be a.receipt.json, and that is the task",
        ),
        (("optimize", "abs.py", *CPU, "--run-dir", "abs.py/runs"), 5, "--run-dir: no folder can be made"),
        (("check", "abs.py", "k.cpp", "--receipt", "none/r.json"), 5, "--receipt: none/r.json cannot be written"),
        (("admit", "abs.py", *CPU, "--html", "none/a.html"), 5, "--html: none/a.html cannot be written"),
        (("optimize", "abs.py", *CPU, "--language", "cuda"), 2, "--language cuda and --target cpu contradict"),
        (("optimize", "abs.py", *CPU, "--max-usd", "1"), 2, "no model is named"),
        (("optimize", "abs.py", *CPU, "--max-tokens", "9"), 2, "no model is named"),
        (
            ("optimize", "abs.py", *CPU, "--proposers", "author", "--model", "openai:m@http://localhost:9/v1"),
            2,
            "these ask no model",
        ),
        (("optimize", "abs.py", *CPU, "--min-speedup", "2", "--keep-slower"), 2, "contradict each other"),
        (("optimize", "abs.py", *CPU, "--model", "kernelwright-small"), 2, "writes triton and nothing else"),
        (("optimize", "abs.py", *CPU, "--ray-address", "head:1"), 2, "add --execution ray"),
        (("check", "abs.py", "k.cpp", "--target", "sm_90"), 2, "a cpp kernel is for cpu"),
        (("check", "abs.py", "k.cpp", "--entry", "nope"), 2, "it defines f"),
        (("optimize", "."), 3, "kernelwright bench ."),
        (("optimize", "."), 3, "kernelwright admit ."),
        (("optimize", "abs.py", "--model", "openai:x@localhost:9"), 2, "openai:x@http://localhost:9"),
        (("optimize", "abs.py", "--model", "gpt-5"), 2, "openai:gpt-5 for OpenAI's"),
        (("check", "k.cpp", "abs.py"), 2, "'abs.py' is the task: it comes first"),
        (("profile", "k.cpp", "abs.py"), 2, "'abs.py' is the task: it comes first"),
        (("optimize", "abs.py", *CPU, "--config", "key.toml"), 2, "budget.proposal: there is no such setting"),
        (("optimize", "abs.py", "--target", "h200 sxn"), 2, "Did you mean 'H200 SXM'?"),
        (("mcp", "--root", "none"), 2, "--root: none is no folder"),
        (("verify", "empty.json"), 8, "'empty.json' is no receipt: name a file that --receipt wrote"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_judged(kernelwright, task, tmp_path, arguments, code, words):
    (tmp_path / "k.cpp").write_text(KERNEL)
    (tmp_path / "key.toml").write_text("[budget]\nproposal = 3\n")
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "a.receipt.json").write_text("{}")
    said = kernelwright(*arguments, evaluator=Untouched())
    assert (said.code, said.out) == (code, "")
    assert words in said.err.replace("\n", " ")
    assert not (tmp_path / "runs").exists()


def test_resume_does_not_write_over_the_task_either(kernelwright, task, tmp_path):
    text = task.read_text()
    folder = kernelwright("optimize", task, *CPU, "--json").json["folder"]
    said = kernelwright("resume", folder, "-o", task)
    assert (said.code, task.read_text()) == (2, text)
    assert "that is the task itself" in said.err
    for _ in range(2):  # what it wrote itself may be written again
        assert kernelwright("resume", folder, "-o", "best.py").code == 0


def test_asking_whether_a_file_can_be_written_leaves_nothing_behind(kernelwright, task, tmp_path):
    kernelwright("optimize", "none.py", "-o", "best.py", "--run-dir", "elsewhere")
    assert {file.name for file in tmp_path.iterdir()} == {"abs.py"}


def test_a_corrupt_run_hides_no_other(kernelwright, task, tmp_path):
    good = kernelwright("optimize", task, *CPU, "--budget", "1", "--json").json["folder"]
    bad = Path(kernelwright("optimize", task, *CPU, "--budget", "1", "--json").json["folder"])
    for file in bad.glob(f"{FILE}*"):
        file.write_bytes(b"garbage" * 100)
    said = kernelwright("runs")
    assert said.code == 5
    assert f"{good} " in said.out
    (line,) = (line for line in said.out.splitlines() if line.startswith(str(bad)))
    assert "unreadable: the run at" in line
    assert "is corrupt" in line
    assert kernelwright("runs", "--json").out.count('"error":') == 1


def test_a_live_run_is_running_and_a_killed_one_can_be_resumed(kernelwright, task):
    broken = kernelwright("optimize", task, *CPU, "--json", evaluator=ScriptedEvaluator(breaks=9)).json["folder"]
    assert kernelwright("runs").out.rstrip().endswith("can be resumed")
    writer = RunStore.open(Path(broken), writing=True)
    try:
        assert kernelwright("runs").out.rstrip().endswith("running")
        assert kernelwright("runs", "--json").json["stopped"] == "Still running."
    finally:
        writer.close()
    assert kernelwright("runs").out.rstrip().endswith("can be resumed")


def test_looking_at_a_run_keeps_nobody_from_resuming_it(kernelwright, task):
    folder = Path(kernelwright("optimize", task, *CPU, "--json", evaluator=ScriptedEvaluator(breaks=9)).json["folder"])
    with_reader = RunStore.open(folder)
    assert with_reader.live is False
    RunStore.open(folder, writing=True).close()
    with_reader.close()
    with sqlite3.connect(folder / FILE) as connection:
        assert connection.execute("SELECT COUNT(*) FROM card").fetchone() == (1,)


def test_admit_leaves_the_folders_of_runs_alone(kernelwright, task, tmp_path):
    kernelwright("optimize", task, *CPU, "--budget", "1")
    said = kernelwright("admit", ".", *CPU, "--json")
    assert [found["file"] for found in said.json["tasks"]] == ["abs.py"]
    assert said.json["skipped"] == []


class Fourier(ScriptedEvaluator):
    """Admits a task of an operation that the built-in author does not write, and measures nothing before it may."""

    async def admit(self, source, target):
        task = await super().admit(source, target)
        (node,) = task.graph.nodes
        graph = task.graph.model_copy(update={"nodes": (node.model_copy(update={"op": "aten.fft_fft.default"}),)})
        return task.model_copy(update={"graph": graph})

    async def environment(self, target=None):
        raise AssertionError("the bandwidth was measured for a task that nobody can write")


def test_what_the_author_cannot_write_is_said_before_anything_is_measured(kernelwright, task, tmp_path):
    said = kernelwright("optimize", task, *CPU, "--budget", "2", evaluator=Fourier(), proposer=Author())
    assert said.code == 7
    assert "the built-in author cannot write this task" in said.err
    assert "aten.fft_fft.default" in said.err
    assert f"kernelwright optimize {task} --target cpu --model openai:NAME" in said.err
    assert f"kernelwright mcp --root {tmp_path} --target cpu" in said.err
    assert f"kernelwright check {task} KERNEL --target cpu" in said.err
    assert "resume" not in said.err
    assert not (tmp_path / "runs").exists()


def test_what_is_known_only_after_asking_the_compiler_leaves_no_run_either(kernelwright, task, tmp_path):
    proposer = ScriptedProposer(error=ProposeError("author: no fft; inductor: it calls PyTorch"))
    said = kernelwright("optimize", task, *CPU, "--json", proposer=proposer)
    assert (said.code, said.out) == (7, "")
    assert "error: author: no fft; inductor: it calls PyTorch" in said.err
    assert f"kernelwright optimize {task} --target cpu --model openai:NAME" in said.err
    assert f"kernelwright check {task} KERNEL --target cpu" in said.err
    assert list((tmp_path / "runs").iterdir()) == []
    assert "resume" not in said.err + kernelwright("runs").out


def test_the_author_refuses_a_language_that_it_does_not_write(kernelwright, task):
    said = kernelwright("optimize", task, "--target", "sm_90", "--language", "cuda", proposer=Author())
    assert said.code == 7
    assert "the built-in author writes triton for cuda targets, not cuda" in said.err


def test_a_run_that_cannot_go_on_is_not_told_to(kernelwright, task):
    proposer = ScriptedProposer(error=ProposeError("cannot write aten.fft"))
    said = kernelwright("optimize", task, *CPU, proposer=proposer)
    assert said.code == 7
    assert "resume" not in said.err


def test_a_folder_of_runs_is_not_taken_for_a_run(kernelwright, task):
    kernelwright("optimize", task, *CPU, "--budget", "1")
    said = kernelwright("resume", "runs")
    assert (said.code, "kernelwright runs --run-dir runs" in said.err) == (5, True)


@pytest.mark.parametrize("line", [("-h",), ("report", "-h"), ("train", "-h")])
def test_help_is_short_too_and_names_what_it_takes(kernelwright, line):
    said = kernelwright(*line)
    assert (said.code, said.out.startswith("Usage: ")) == (0, True)
    assert "RUN…" not in said.out and " what " not in said.out.splitlines()[0]


def test_the_help_names_every_exit_code(kernelwright):
    said = kernelwright("--help").out.replace("\n", " ")
    for code in (*range(12), 130):
        assert f" {code} " in said


class Impatient(ScriptedEvaluator):
    """Ctrl-C that nothing catches, as a second one is while the first waits for a compiler."""

    async def evaluate(self, *arguments):
        raise KeyboardInterrupt


class ImpatientEarlier(ScriptedEvaluator):
    """The same before there is a run."""

    async def admit(self, *arguments):
        raise KeyboardInterrupt


@pytest.mark.parametrize("begun", [True, False])
def test_ctrl_c_names_the_folder_that_is_left_or_says_that_none_is(kernelwright, task, tmp_path, begun):
    evaluator = (Impatient if begun else ImpatientEarlier)()
    said = kernelwright("optimize", task, "--target", "cpu", evaluator=evaluator)
    folders = [*(tmp_path / "runs").glob("*")]
    assert (said.code, len(folders)) == (130, int(begun))
    told = f"continue with: kernelwright resume runs/{folders[0].name}" if begun else "nothing is left behind"
    assert told in said.err.replace("\n", " ")
