"""The moving lines: elapsed time, what is left, what is going on; nothing is cut at 80 columns."""

import io
from time import monotonic, sleep

import pytest
from rich.console import Console

from kernelwright.api import Asked, Finished, Judged, NewBest, Phase, Proposed, Spent, Started, Writing
from kernelwright.engine.budget import Budget
from kernelwright.interfaces.cli.ending import file_line
from kernelwright.interfaces.cli.screen import LiveLine, Pace, Screen, clock, fitted
from kernelwright.records.attempt import Cost, ProposalRequest
from kernelwright.records.feedback import Feedback
from kernelwright.records.measure import Ratio, Versus
from kernelwright.records.run import Outcome

BUDGET = Budget(proposals=6)


class Clock:
    def __init__(self):
        self.at = 0.0

    def __call__(self):
        return self.at


@pytest.fixture
def watch(monkeypatch):
    made = Clock()
    for kind in (LiveLine, Pace):
        where = f"kernelwright.interfaces.cli.screen.{kind.__name__}"
        monkeypatch.setattr(where, lambda kind=kind, **more: kind(made, **more))
    return made


@pytest.fixture
def screen(watch):
    console = Console(file=io.StringIO(), width=80, force_terminal=True, soft_wrap=True, highlight=False)
    made = Screen(console)
    made.said = lambda: console.file.getvalue()
    made.shown = lambda width=78: made._live.lines(width)
    return made


def test_a_log_is_told_what_goes_on_where_nothing_else_is_said(monkeypatch):
    monkeypatch.setattr(Screen, "silent_s", 0.02)
    console = Console(file=io.StringIO(), force_terminal=False, soft_wrap=True, highlight=False)
    with Screen(console) as screen:
        screen(Phase(text="verifying: case 3 of 14"))
        deadline = monotonic() + 5
        while console.file.getvalue().count("case 3 of 14") < 3 and monotonic() < deadline:
            sleep(0.01)
    said = console.file.getvalue()
    assert said.count("case 3 of 14 …") >= 3
    sleep(0.06)
    assert console.file.getvalue() == said, "it is silent afterwards"


def test_what_is_done_with_a_kernel_is_said(screen):
    asked = ProposalRequest(number=0, role="coder", intent="seed", count=1)
    screen(Asked(proposal_request=asked))
    assert screen.shown()[-1] == "writing a kernel"
    screen(Proposed(proposal_request=0, notes=("the default",)))
    assert screen.shown()[-1] == "compiling and verifying"


def versus(eager, compiled):
    pairs = (("eager", eager), ("compile", compiled))
    ratios = [(n, Ratio(median=v, low=v * 0.97, high=v * 1.04, confidence=0.99)) for n, v in pairs]
    return tuple(Versus(baseline=n, speedup=r, verdict="faster") for n, r in ratios)


def judged(number, eager=5.61, compiled=1.95, replayed=False):
    told = Feedback(attempt=number, works=True, words="")
    return Judged(
        attempt=number, outcome="measured", feedback=told, latency_us=16.4e3, versus=versus(eager, compiled),
        replayed=replayed,
    )  # fmt: skip


def spent(proposals, replayed=False, **more):
    return Spent(spent=Cost(proposals=proposals, **more), budget=BUDGET, replayed=replayed)


def started():
    return Started(run="r", folder="runs/20261122-133900-rms_norm-5e86", task="rms_norm", target="cpu", budget=BUDGET)


def test_the_time_moves_while_nothing_else_happens(screen, watch):
    screen(Phase(text="running the reference in its sandbox"))
    watch.at = 42.4
    assert screen.shown() == ["0:42", "running the reference in its sandbox"]
    watch.at = 3723
    assert screen.shown()[0] == "1:02:03"


def test_what_is_left_is_told_after_an_attempt_and_counted_down(screen, watch):
    screen(started())
    watch.at = 30
    screen(judged(0))
    assert "left" not in screen.shown()[0]
    screen(spent(1, device_s=9))
    assert screen.shown()[0].startswith("0:30 · about 2 min left · attempt 2 of 6")
    watch.at = 60
    screen(spent(2, device_s=18))
    assert screen.shown()[0].startswith("1:00 · about 2 min left · attempt 3 of 6")
    watch.at = 100
    assert screen.shown()[0].startswith("1:40 · about 80 s left · attempt 3 of 6")
    watch.at = 181
    assert screen.shown()[0].startswith("3:01 · attempt 3 of 6"), "nobody knows any more"


def test_of_several_budgets_the_one_that_ends_first_counts(screen, watch):
    screen(started())
    for done in (1, 2):
        watch.at = 30 * done
        tight = Budget(proposals=6, device_s=30)
        screen(Spent(spent=Cost(proposals=done, device_s=10 * done), budget=tight))
    assert "about 30 s left" in screen.shown()[0]


def test_what_a_resumed_run_repeats_says_nothing_of_the_pace(screen, watch):
    screen(started())
    for done in (1, 2, 3):
        screen(spent(done, replayed=True))
    assert "left" not in screen.shown()[0]
    for done in (4, 5):
        watch.at += 20
        screen(spent(done))
    assert "about 20 s left" in screen.shown()[0]


def test_there_is_no_attempt_7_of_6(screen):
    screen(started())
    for number in range(6):
        screen(judged(number))
        screen(spent(number + 1))
    assert "all 6 attempts judged" in screen.shown()[0]
    screen(Phase(text="measuring the best again with fresh inputs", search_over=True))
    screen(Phase(text="final: fresh inputs, head to head"))
    first, second = screen.shown()
    assert "search over" in first and "left" not in first and "7" not in first
    assert second == "final: fresh inputs, head to head"
    screen(Finished(outcome=Outcome(best=None, stopped="")))
    assert screen.shown()[1] == "writing the report"


def test_a_new_best_has_the_figures_of_its_line_and_both_baselines(screen):
    screen(started())
    screen(judged(0))
    screen(NewBest(attempt=0))
    lines = screen.said()
    assert ", by its lower end: 5.61× eager (5.44 to 5.83), 1.95× torch.compile (1.89 to 2.03)" in lines
    assert "at least" not in lines


def test_right_kernels_of_which_none_is_a_best_are_not_said_to_be_wrong(screen):
    for event in (started(), judged(0), spent(1), Phase(text="measuring again", search_over=True)):
        screen(event)
    shown = " ".join(screen.shown(120))
    assert "nothing right yet" not in shown
    assert "right, no sure figure" in shown
    screen(NewBest(attempt=0))
    screen(spent(2))
    assert "best 5.61× eager" in " ".join(screen.shown(120))


def test_of_several_proposers_the_line_names_the_one_that_wrote_it(screen):
    screen(judged(0).model_copy(update={"writer": "inductor"}))
    screen(judged(1))
    first, second = screen.said().splitlines()
    assert "by inductor" in first
    assert " by " not in second


@pytest.mark.parametrize("width", [78, 60, 40, 20])
def test_nothing_is_cut_at_any_width(screen, watch, width):
    screen(started())
    screen(judged(0))
    screen(NewBest(attempt=0))
    for done in (1, 2):
        watch.at += 300
        screen(spent(done, usd=0.25 * done))
    screen(Phase(text="compiling the torch.compile baselines, once for this task"))
    first, second = screen.shown(width)
    assert len(first) <= width and len(second) <= width
    assert first.startswith("10:00")
    if width >= 78:
        assert first == "10:00 · about 20 min left · attempt 3 of 6 · best 5.61× eager, 1.95× compile"
        assert second == "compiling the torch.compile baselines, once for this task"


def test_the_terminal_gets_lines_of_80_columns(screen, watch):
    screen(started())
    watch.at = 12
    with screen:
        screen(judged(0))
        screen(Phase(text="measuring the memory bandwidth"))
        screen._status.renderable.update()
        screen._status.update()
    assert "0:12 · attempt 1 of 6 · nothing right yet" in screen.said()
    assert "…" not in screen.said()


@pytest.mark.parametrize(("seconds", "words"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3600, "1:00:00")])
def test_a_watch(seconds, words):
    assert clock(seconds) == words


def test_paths_are_links_on_a_terminal_that_knows_links(tmp_path):
    said = {}
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, soft_wrap=True, highlight=False, width=20)
        console.print(file_line("kernel", tmp_path / "a[b] c.py"))
        said[terminal] = console.file.getvalue()
    assert said[False] == f"kernel {tmp_path}/a[b] c.py\n"
    assert f";{(tmp_path / 'a[b] c.py').as_uri()}\x1b\\" in said[True]


def test_parts_that_do_not_fit_are_left_out_whole():
    assert fitted(("0:42", "attempt 1 of 6", "nothing right yet", "$0.20"), 30) == "0:42 · attempt 1 of 6 · $0.20"


def test_a_reply_that_is_coming_is_shown_with_its_length(screen):
    screen(Writing(proposal_request=3, role="coder", tokens=12345))
    assert "the coder model writes: about 12,345 tokens" in "".join(screen.shown())
