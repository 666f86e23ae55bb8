"""The summary in the terminal."""

import io

from rich.console import Console

import fake_runs as fake
from kernelwright.records.measure import Load, Ratio
from kernelwright.records.run import Outcome
from kernelwright.report.terminal import SHOWN, render


def printed(*run, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(render(*run))
    return console.file.getvalue()


def test_a_finished_run():
    run = fake.long_run()
    text = printed(fake.card(), run, fake.ended(run[-1]))
    assert "3.10× as fast as eager PyTorch" in text
    assert "Faster than eager PyTorch: 3.10×, 99 % interval 3.01× to 3.19×." in text
    assert "60 attempts: 49 measured" in text
    assert "Denied by this host: PID namespace" in text
    assert sum("measured" in line.split()[1:2] for line in text.splitlines()) == SHOWN


def test_a_baseline_that_it_was_not_compared_with_is_named():
    run, why = fake.long_run(), "no device memory for it (compile_max)"
    text = printed(fake.card(), run, fake.without(fake.ended(run[-1]), f"compile_max: {why}"))
    assert f"Not compared with torch.compile (max-autotune): {why}." in text


def test_an_empty_run():
    text = printed(fake.card(), [], Outcome(best=None, stopped="interrupted"))
    assert "No right kernel was found" in text
    assert "Stopped: interrupted." in text


def test_hostile_text_neither_moves_the_cursor_nor_is_markup():
    text = printed(fake.card(), fake.one_of_each(fake.NASTY), None, width=200)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "⟨U+001B⟩" in text


def test_switched_off_defences_are_named():
    run = [fake.attempt(0, fake.measured(disabled=("poison",)))]
    assert "Defences switched off: poison." in printed(fake.card(), run, None)


def test_narrow_terminals_keep_their_width():
    run = fake.long_run(5)
    assert all(len(line) <= 60 for line in printed(fake.card(), run, None, width=60).splitlines())


def test_a_long_note_takes_no_room_from_the_figures():
    noted = fake.attempt(0, fake.measured())
    noted = noted.model_copy(update={"proposal": noted.proposal.model_copy(update={"note": "a long note " * 20})})
    lines = printed(fake.card(), [noted], fake.ended(noted), width=60).splitlines()
    row = next(line for line in lines if "a long" in line and line.startswith("      0"))
    assert "measured" in row and row.count("×") == 2
    assert any(line.split() == ["attempt", "outcome", "call", "eager", "compile", "note"] for line in lines)


def test_the_table_begins_with_the_final_figure_and_has_both_baselines():
    run = fake.long_run(5)
    lines = printed(fake.card(), run, fake.ended(run[-1], eager=2.05, compiled=0.99)).splitlines()
    head = next(at for at, line in enumerate(lines) if line.split()[:2] == ["attempt", "outcome"])
    assert lines[head + 1].split()[:7] == ["final", "4", "measured", "11.0", "ms", "2.05×", "0.99×"]


def test_80_columns_cut_nothing():
    run = fake.long_run(5)
    noted = run[-1].proposal.model_copy(update={"note": "turned threads=all, prefetch=hardware, block=4096, lanes=8"})
    run = [*run[:-1], run[-1].model_copy(update={"proposal": noted})]
    text = printed(fake.card(), run, fake.ended(run[-1]), width=80)
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "lanes=8" in " ".join(text.split())


def test_a_busy_machine_and_its_blurred_figures_are_told_and_rank_last():
    load = Load(cores=2, during=1.2)
    run = [
        fake.attempt(0, fake.beside(fake.blurred(fake.measured(17.6)), load), note="vague"),
        fake.attempt(1, fake.measured(1.2), note="sharp"),
    ]
    text = printed(fake.card(), run, fake.ended(run[1], 1.2), width=120)
    assert "This machine was busy while 1 of 2 attempts were timed" in text
    assert text.index("sharp") < text.index("vague")
    (row,) = (line for line in text.splitlines() if "vague" in line)
    assert "0.36× to 11.1×" in row
    assert "4.00×" not in text


def test_why_pytorch_stays_is_whole_on_a_busy_machine_too():
    load = Load(cores=2, during=1.2, stolen=0.3)
    final = fake.attempt(0, fake.beside(fake.blurred(fake.measured(final=True)), load))
    card = fake.card()
    text = printed(card, [final], Outcome(best=0, final=final, stopped="done"), width=120)
    assert "here it is 0.36×, so none was written." in " ".join(text.split())


def test_what_is_claimed_of_a_wide_interval_is_whole_on_the_command_s_own_console():
    blurred = Ratio(median=2.0, low=0.33, high=11.1, confidence=0.99)
    best = fake.attempt(0, fake.measured())
    timing = best.evaluation.timing
    versus = tuple(v.model_copy(update={"speedup": blurred}) for v in timing.versus)
    found = best.evaluation.model_copy(update={"timing": timing.model_copy(update={"versus": versus})})
    final = best.model_copy(update={"evaluation": found})
    console = Console(file=io.StringIO(), width=80, soft_wrap=True)
    console.print(render(fake.card(), [best], Outcome(best=0, final=final, stopped="done")))
    assert "  No figure against eager PyTorch can be claimed:" in console.file.getvalue()
    assert "11.1×, which is too wide for a figure." in console.file.getvalue()
