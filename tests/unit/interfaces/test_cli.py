"""The command: what it prints, where, and with which exit code."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.engine.opening import config_of
from kernelwright.errors import ProposeError
from kernelwright.interfaces.cli.main import VERBS, command
from kernelwright.records.evaluation import BuildFailed
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_evaluation
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer

CPU = ("--target", "cpu")
COMMAND = Path(sys.executable).with_name("kernelwright")
KERNEL = 'extern "C" void f(const float* x, float* y) {}\n'


def test_optimize_ends_with_a_kernel_a_report_and_a_summary(kernelwright, task, tmp_path):
    said = kernelwright("optimize", task, *CPU, "-o", "best.py")
    assert said.code == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert {file.name for file in run.iterdir()} == {FILE, "report.html", "model_new.py", "receipt.json"}
    assert (tmp_path / "best.py").read_text() == (run / "model_new.py").read_text()
    assert (tmp_path / "best.receipt.json").read_text() == (run / "receipt.json").read_text()
    assert f"{run.name}: 12 attempts" in said.out
    assert f"{run.name}/report.html" in said.out
    assert re.search(r"by its lower end: \d+\.\d\d× eager \(\d+\.\d\d to \d+\.\d\d\)", said.err)


def test_the_json_is_all_of_stdout_and_has_the_promised_fields(kernelwright, task):
    said = kernelwright("optimize", task, *CPU, "--json", "--budget", "3")
    assert {"run", "task", "target", "device", "attempts", "outcomes", "best", "report"} <= said.json.keys()
    assert said.json["attempts"] == 3
    best = said.json["best"]
    assert {"language", "latency_us", "speedup_eager", "speedup_compile", "verdict", "kernel"} <= best.keys()
    assert {"median", "low", "high"} <= best["speedup_eager"].keys() & best["speedup_compile"].keys()
    assert (best["verdict"], best["final"]) == ("faster", True)
    assert "attempt" not in said.out.split("{", 1)[0]


def test_progress_names_what_is_waited_for_and_each_attempt(kernelwright, task):
    said = kernelwright("optimize", task, *CPU, "--budget", "2", "--json")
    assert "admitting abs on cpu" in said.err
    assert said.err.count(" measured ") == 2
    assert "measuring the best again" in said.err


def test_flags_reach_the_run_and_are_stored_with_it(kernelwright, task, tmp_path):
    (tmp_path / "run.toml").write_text("[budget]\nproposals = 9\n[autotune]\npoints = 3\n")
    text = "--config run.toml --budget 2 --device-seconds 50 --seed 4 --no-final --strategy best_of_n"
    flags = [*text.split(), "--target-us", "1", "--isolation", "strict", "--run-dir", "elsewhere"]
    flags += ["--execution", "ray", "--ray-address", "head:6379"]
    said = kernelwright("optimize", task, *CPU, *flags, "--json")
    assert said.json["attempts"] == 2
    assert said.json["best"]["final"] is False
    (folder,) = (tmp_path / "elsewhere").iterdir()
    store = RunStore.open(folder)
    config = config_of(store.card)
    store.close()
    assert (config.seed, config.autotune.points, config.budget.device_s) == (4, 3, 50.0)
    assert (config.policy.isolation, config.remeasurement.enabled, config.target_us) == ("strict", False, 1.0)
    assert (config.place.name, config.place.address) == ("ray", "head:6379")


def test_nothing_right_is_exit_code_1_and_no_file(kernelwright, task, tmp_path):
    evaluator = ScriptedEvaluator(outcomes=("incorrect",))
    said = kernelwright("optimize", task, *CPU, "--json", "-o", "best.py", evaluator=evaluator)
    assert said.code == 1
    assert said.json["best"] is None
    assert said.json["stopped"] == "Failed to generate a functional kernel."
    assert not (tmp_path / "best.py").exists()
    assert "best.py is not written" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("optimize", "none.py"), 3, "does not exist"),
        (("optimize", "abs.py", "--target", "sm_1"), 2, "must be cpu, cuda, one of"),
        (("optimize", "abs.py", "--budget", "0"), 2, "budget.proposals"),
        (("optimize", "abs.py", "--strategy", "magic"), 2, "best_of_n"),
        (("optimize", "abs.py", "--config", "none.toml"), 2, "does not exist"),
        (("optimize", "abs.py", "--unknown"), 2, "No such option"),
        (("optimize", "abs.py", "--execution", "moon"), 2, "execution: Input should be 'local' or 'ray'"),
        (("optimize", "raises.py", "--target", "cpu"), 3, "raises when it is run"),
        (("resume", "none"), 5, "there is no run at none"),
        (("report", "none"), 5, "there is no run at none"),
        (("check", "abs.py", "none.cpp"), 3, "does not exist"),
        (("check", "abs.py", "abs.txt"), 2, "ending must be one of"),
    ],
)
def test_bad_input_is_one_message_and_its_exit_code(kernelwright, task, tmp_path, arguments, code, words):
    (tmp_path / "raises.py").write_text(task.read_text() + "raise ValueError\n")
    said = kernelwright(*arguments)
    assert said.code == code
    assert words in said.err.replace("\n", " ")
    assert said.out == ""
    assert "Traceback" not in said.err
    assert "Value error" not in said.err


def test_a_broken_referee_keeps_the_run_and_says_how_to_go_on(kernelwright, task, tmp_path):
    said = kernelwright("optimize", task, *CPU, evaluator=ScriptedEvaluator(breaks=99))
    assert said.code == 6
    (run,) = (tmp_path / "runs").iterdir()
    assert f"continue with: kernelwright resume runs/{run.name}" in said.err
    assert kernelwright("resume", run).code == 0


def test_a_task_that_no_proposer_can_write_is_exit_code_7(kernelwright, task):
    proposer = ScriptedProposer(error=ProposeError("cannot write aten.fft: use another of --proposers"))
    said = kernelwright("optimize", task, *CPU, proposer=proposer)
    assert said.code == 7
    assert "cannot write aten.fft" in said.err


def test_resume_of_a_complete_run_only_sums_it_up(kernelwright, task, tmp_path):
    first = kernelwright("optimize", task, *CPU, "--json").json
    evaluator = ScriptedEvaluator()
    again = kernelwright("resume", first["folder"], "--json", evaluator=evaluator)
    assert again.json == first
    assert evaluator.calls == []


def test_resume_refuses_another_machine(kernelwright, task):
    class Elsewhere(ScriptedEvaluator):
        async def environment(self, target=None):
            here = await super().environment()
            return here.model_copy(update={"versions": {"python": "3.99"}})

    folder = kernelwright("optimize", task, *CPU, "--json", evaluator=ScriptedEvaluator(breaks=9)).json["folder"]
    said = kernelwright("resume", folder, evaluator=Elsewhere())
    assert said.code == 5
    assert "python was 3.11, is 3.99" in said.err


def test_a_corrupt_run_says_so(kernelwright, task):
    folder = kernelwright("optimize", task, *CPU, "--json").json["folder"]
    with Path(folder, FILE).open("r+b") as file:
        file.write(b"garbage" * 100)
    said = kernelwright("resume", folder)
    assert said.code == 5
    assert "is corrupt" in said.err


def test_a_report_over_several_runs(kernelwright, task, tmp_path):
    for seed in ("1", "2"):
        kernelwright("optimize", task, *CPU, "--seed", seed, "--no-cache", "--budget", "2")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / FILE).write_text("no journal")
    assert kernelwright("report", "runs", "-o", "all.html").out.splitlines()[-1] == "all.html"
    said = kernelwright("report", *sorted(p for p in (tmp_path / "runs").iterdir() if p.is_dir()))
    assert said.code == 0
    assert said.out.splitlines()[-1] == "runs/overview.html"
    page = (tmp_path / "runs" / "overview.html").read_text()
    assert "2 runs" in page and "broken" in page
    first, second = (p for p in (tmp_path / "runs").iterdir() if p.is_dir() and p.name != "broken")
    assert f'href="{first.name}/report.html"' in page
    said = kernelwright("report", first, second, "-o", "both.html", "--figures", "figures")
    assert said.out.splitlines()[-3:] == ["figures/1-abs-eager.svg", "figures/1-abs-compile.svg", "both.html"]
    assert kernelwright("report", first, "--figures", "one").code == 0
    assert (tmp_path / "one" / "progress.svg").read_text().startswith("<svg xmlns=")


def test_report_is_written_again_where_it_is_wanted(kernelwright, task, tmp_path):
    folder = kernelwright("optimize", task, *CPU, "--json").json["folder"]
    said = kernelwright("report", folder, "-o", "page.html")
    assert "12 attempts" in said.out
    assert said.out.splitlines()[-1] == "page.html"
    assert "12 attempts" in (tmp_path / "page.html").read_text()
    assert kernelwright("report", folder, "-o", "none/page.html").code == 5


def test_runs_are_listed(kernelwright, task):
    assert "no runs in runs" in kernelwright("runs").err
    folder = kernelwright("optimize", task, *CPU, "--json").json["folder"]
    assert folder in kernelwright("runs").out
    assert kernelwright("runs", "--json").json["folder"] == folder


class Judges(ScriptedEvaluator):
    """One outcome, at every effort."""

    async def evaluate(self, task, candidate, effort="search"):
        self.calls.append(f"{candidate.entry} {effort}")
        return sample_evaluation(self.outcomes[0])


@pytest.mark.parametrize(
    ("outcome", "code", "reason"),
    [
        ("measured", 0, ""),
        ("verified", 0, ""),
        ("compiled", 1, "no such device"),
        ("incorrect", 1, "expected 1.5, got -1.5"),
        ("suspect", 1, "below the floor"),
        ("crashed", 1, "SIGSEGV"),
        ("timed_out", 1, "30 s"),
        ("build_failed", 1, "expected ';'"),
        ("refused", 1, "no function named"),
    ],
)
def test_check_says_the_outcome_and_leaves_with_it(kernelwright, task, tmp_path, outcome, code, reason):
    (tmp_path / "k.cpp").write_text(KERNEL)
    said = kernelwright("check", task, "k.cpp", "--json", evaluator=Judges(outcomes=(outcome,)))
    assert (said.code, said.json["outcome"], said.json["right"]) == (code, outcome, code == 0)
    assert reason in said.json["reason"]
    assert (said.json["latency_us"] is not None) == (outcome == "measured")
    plain = kernelwright("check", task, "k.cpp", evaluator=Judges(outcomes=(outcome,)))
    assert plain.out.startswith(f"{outcome}: " if reason else f"{outcome}\n")


def test_check_measures_anew_and_quick_does_not(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)
    evaluator = Judges(outcomes=("measured",))
    kernelwright("check", task, "k.cpp", evaluator=evaluator)
    kernelwright("check", task, "k.cpp", "--quick", evaluator=evaluator)
    assert evaluator.calls == ["f final", "f search"]


def test_check_takes_the_target_from_the_language(kernelwright, task, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelwright.engine.target.find_gpu", lambda: None)
    (tmp_path / "k.cpp").write_text(KERNEL)
    (tmp_path / "k.py").write_text("import triton\nclass ModelNew: ...\n")
    (tmp_path / "plain.py").write_text("class ModelNew: ...\n")
    assert kernelwright("check", task, "k.cpp", "--json").json["target"]["kind"] == "cpu"
    assert kernelwright("check", task, "plain.py", "--json").json["language"] == "python"
    assert kernelwright("check", task, "k.py", "--json").json["target"]["arch"] == "sm_90"


def test_a_module_without_its_class_is_told_before_anything_is_admitted(kernelwright, task, tmp_path):
    (tmp_path / "noname.py").write_text("class fast: ...\n")
    evaluator = ScriptedEvaluator(breaks=0)
    for verb in ("check", "profile"):
        said = kernelwright(verb, task, "noname.py", evaluator=evaluator)
        assert said.code == 2
        assert "noname.py defines no class ModelNew; it defines fast" in " ".join(said.err.split())
        assert "admitting" not in said.err
    assert kernelwright("check", task, "noname.py", "--entry", "fast").code == 0
    (tmp_path / "noname.py").write_text("from torch import fast\n# slow\nclass other: ...\n")
    said = kernelwright("check", task, "noname.py", "--entry", "slow")
    assert "noname.py defines no class slow; it defines other" in " ".join(said.err.split())
    said = kernelwright("check", task, "noname.py", "--entry", "quick")
    assert "no such name in it; it defines other" in " ".join(said.err.split())


def test_what_is_called_as_the_reference_is_counts_as_its_class(kernelwright, task, tmp_path):
    (tmp_path / "k.py").write_text("class Model: ...\n")
    assert kernelwright("check", task, "k.py").code == 0


def test_a_kernel_that_was_interpreted_says_on_what_and_claims_no_time(kernelwright, task, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelwright.engine.target.find_gpu", lambda: None)
    (tmp_path / "k.py").write_text("import triton\nclass ModelNew: ...\n")
    said = kernelwright("check", task, "k.py", evaluator=Judges(outcomes=("verified",)))
    how = sample_evaluation("verified").how
    assert f"judged by {how}; it never ran on sm_90; no time is claimed" in " ".join(said.out.split())
    assert kernelwright("check", task, "k.py", "--json", evaluator=Judges(outcomes=("verified",))).json["how"] == how
    said = kernelwright("check", task, "k.py", evaluator=Judges(outcomes=("measured",)))
    assert "no time is claimed" not in said.out


def test_where_there_are_several_outputs_each_case_names_its_own(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)

    class TwoOutputs(Judges):
        async def evaluate(self, task, candidate, effort="search"):
            found = sample_evaluation("measured")
            (case,) = found.accuracy.cases
            cases = tuple(case.model_copy(update={"distribution": "times 3", "output": n}) for n in (0, 1))
            return found.model_copy(update={"accuracy": found.accuracy.model_copy(update={"cases": cases})})

    said = kernelwright("check", task, "k.cpp", evaluator=TwoOutputs(outcomes=("measured",)))
    assert [line.split(":")[0].split(maxsplit=1)[1] for line in said.out.splitlines() if line.startswith("case")] == [
        "times 3, output 0", "times 3, output 1"
    ]  # fmt: skip
    said = kernelwright("check", task, "k.cpp", evaluator=Judges(outcomes=("measured",)))
    assert "output 0" not in said.out


def test_profile_shows_a_table_and_what_holds_the_kernel_back(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)
    said = kernelwright("profile", task, "k.cpp", evaluator=ScriptedEvaluator(outcomes=("measured",)))
    assert said.code == 0
    assert "from hardware counters; measured ceilings: read 4400 GB/s, copy 4300 GB/s" in said.out
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in said.out.splitlines()}
    assert lines["kernel"] == "launches us share own registers shared warps memory waves"
    assert lines["scale"] == "1 45.0 90% yes 32 0 90% of 100% 85% 1.00"
    assert lines["at::native::fill"] == "1 5.0 10% no - - - - -"
    assert "90% of the device time is in its own kernels." in said.out
    assert "profiling k.cpp" in said.err


def test_a_profile_as_json_has_the_verdict_the_schema_and_the_statement(kernelwright, task, tmp_path):
    (tmp_path / "k.cpp").write_text(KERNEL)
    said = kernelwright("profile", task, "k.cpp", "--json", evaluator=ScriptedEvaluator(outcomes=("incorrect",)))
    assert said.code == 1, "a wrong kernel is profiled all the same"
    assert {"outcome", "right", "reason", "profile", "statement"} <= said.json.keys()
    assert said.json["profile"]["tier"] == "counters"
    assert said.json["profile"]["kernels"][0]["counters"]["l2_share"] is None
    assert {"bottleneck", "kernel", "gain", "evidence", "suggestion"} == said.json["statement"]["findings"][0].keys()


def test_doctor_lists_what_it_found(kernelwright):
    said = kernelwright("doctor")
    assert (said.code, said.out.split()) == (0, ["ok", "compiler:", "scripted"])
    assert kernelwright("doctor", "--json").json["status"] == "ok"


INTERRUPT = """
import os, signal, sys, threading
from kernelwright.interfaces.cli.main import invoke
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer
from kernelwright.testing.scripted import scripted_suppliers

class Interrupts(ScriptedEvaluator):
    async def evaluate(self, *arguments):
        if len(self.calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return await super().evaluate(*arguments)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
evaluator = Interrupts(outcomes=("measured",), delay_s=0.05)
code = invoke(sys.argv[1:], scripted_suppliers(evaluator, ScriptedProposer(qualities=10**9)))
assert evaluator.closed
sys.exit(code)
"""


def test_ctrl_c_ends_with_the_best_so_far(task, tmp_path):
    command = [sys.executable, "-c", INTERRUPT, "optimize", str(task), *CPU, "--json", "--budget", "999"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False)
    assert ended.returncode == 128 + signal.SIGINT, ended.stderr
    assert '"stopped": "Interrupted. Not judged to the end: ' in ended.stdout
    assert '"latency_us": null' not in ended.stdout
    assert "continue with: kernelwright resume runs/" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "module", ["kernelwright", "kernelwright.interfaces.cli.main", "kernelwright.testing.scripted"]
)
def test_importing_loads_no_torch(module):
    code = f"import sys, {module}; sys.exit(any(m in sys.modules for m in ('torch', 'triton', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_foreign_text_never_acts_on_the_terminal(kernelwright, task, tmp_path):
    class Hostile(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            return BuildFailed(log="\x1b[2J[bold]error[/] \x07\u202e")

    (tmp_path / "k.cpp").write_text(KERNEL)
    for arguments in (("optimize", task, *CPU), ("check", task, "k.cpp")):
        said = kernelwright(*arguments, evaluator=Hostile())
        assert "[2J[bold]error[/]" in said.out + said.err
        assert not {"\x1b", "\x07", "\u202e"} & set(said.out + said.err)


def test_help_names_every_verb_and_the_exit_codes(kernelwright):
    said = kernelwright("--help")
    assert said.code == 0
    for word in ("optimize", "check", "profile", "resume", "report", "runs", "doctor", "130 interrupted"):
        assert word in said.out.replace("\n", " ")
    assert kernelwright("--version").out.startswith("kernelwright ")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verbs_help_begins_with_its_line_in_the_list(verb):
    assert command(verb).help.split("\n\n")[0] == VERBS[verb]


def test_every_option_says_what_it_does():
    parameters = [parameter for verb in VERBS for parameter in command(verb).params]
    assert len(parameters) > 80
    for parameter in parameters:
        assert len(parameter.help.split()) >= 3, parameter.name
        assert parameter.help.endswith((".", ")")), parameter.name


@pytest.mark.parametrize(("option", "near"), [("--bad", ""), ("--buget", "--budget"), ("--targets", "--target")])
def test_an_unknown_option_is_answered_with_what_is_near_to_its_words(kernelwright, option, near):
    said = kernelwright("optimize", "task.py", option)
    assert (said.code, f"No such option: {option}" in said.err) == (2, True)
    assert ("Possible options" in said.err, near in said.err) == (bool(near), True)


def test_the_headings_of_a_help_are_words():
    headings = {getattr(one, "rich_help_panel", None) or "" for verb in VERBS for one in command(verb).params}
    assert [heading for heading in headings if heading.startswith("-")] == []


def test_techniques_of_which_none_matches_are_said_to_be_none(kernelwright):
    said = kernelwright("techniques", "zzzz")
    assert (said.code, said.out) == (1, "")
    assert "nothing matches" in said.err
    assert kernelwright("techniques", "zzzz", "--json").json == []


def test_a_misspelled_verb_is_answered_with_the_nearest(kernelwright):
    said = kernelwright("optimise", "task.py")
    assert (said.code, said.out) == (2, "")
    assert "Did you mean 'optimize'?" in said.err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("kernelwright re", ["retune", "recheck", "resume", "report"]), ("kernelwright runs --js", ["--json"])],
)
def test_the_shell_completes_verbs_and_their_options(typed, offered):
    asked = {"_KERNELWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    ended = subprocess.run([COMMAND], env=os.environ | asked, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()) == (0, offered), ended.stderr
