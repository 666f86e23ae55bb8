"""A run of thousands: its page has the telling attempts in full and sums over all, and a table of all lies beside it."""

import re

import fake_runs as fake
from kernelwright.records.brief import Brief, brief_of, briefs
from kernelwright.records.chat import ChatMessage, ChatRequest
from kernelwright.records.evaluation import Measured
from kernelwright.records.run import Message
from kernelwright.report.charts.run import CROWD, progress
from kernelwright.report.html import Files, render, render_table
from kernelwright.report.selection import CHARACTERS, LATEST, MOST, chosen, told

LONG = fake.long_run(3 * CROWD)
BEST = max(LONG, key=lambda a: brief_of(a).sure_speedup)
MOST_BYTES = 5_000_000


def test_a_brief_is_the_same_from_a_row_and_from_an_attempt():
    for attempt in fake.one_of_each():
        row = Brief.model_validate_json(attempt.model_dump_json())
        assert row == brief_of(attempt).model_copy(update={"why": ""})
        assert row.right == (attempt.evaluation.outcome in ("measured", "verified"))
        assert (row.latency_us is not None) == isinstance(attempt.evaluation, Measured)


def test_a_long_run_shows_the_best_its_line_the_stairs_and_the_latest():
    shown = chosen(LONG, BEST.number)
    assert len(shown) == MOST
    parent = BEST.proposal_request.parents[0]
    assert {BEST.number, parent, *LONG[parent].proposal_request.parents} <= set(shown)
    assert {a.number for a in LONG[-LATEST:]} <= set(shown)
    assert {a.outcome for a in briefs(LONG)} == {LONG[n].evaluation.outcome for n in shown}


def test_what_is_asked_for_is_shown_whatever_else_is():
    hidden = next(a.number for a in LONG if a.number not in chosen(LONG, BEST.number))
    assert hidden in chosen(LONG, BEST.number, [hidden])
    assert f'id="attempt-{hidden}"' in render(fake.card(), LONG, fake.ended(BEST), files=Files(wanted=(hidden,)))


def test_a_short_run_is_shown_whole_and_has_no_table():
    short = fake.long_run(MOST)
    assert chosen(short, 0) == list(range(MOST))
    assert render_table(fake.card(), short, None, "report.html") == ""


def test_a_page_stays_small_and_links_to_nothing_that_is_not_on_it():
    page = render(fake.card(), LONG, fake.ended(BEST), files=Files(table="report-attempts.html", folder="runs/a"))
    assert len(page.encode()) < MOST_BYTES
    targets = set(re.findall(r'href="#(attempt-\d+)"', page))
    missing = targets - set(re.findall(r'id="(attempt-\d+)"', page))
    kept = re.findall(r'parents</dt><dd><a href="#(attempt-\d+)"', page)
    assert not missing - set(kept)
    assert f"{MOST} of {len(LONG):,} attempts" in page
    assert 'href="report-attempts.html"' in page


def test_the_table_has_a_line_for_each_attempt_and_leads_to_those_that_are_shown():
    table = render_table(fake.card(), LONG, fake.ended(BEST), "report.html")
    assert table.count("<tr><th>") == len(LONG)
    assert f'href="report.html#attempt-{BEST.number}"' in table
    assert table.count("report.html#attempt-") == MOST


def test_sources_that_are_long_leave_room_for_fewer_attempts():
    wide = [a.model_copy(update={"proposal": fake.attempt(a.number, a.evaluation, source="x" * 100_000).proposal})
            for a in LONG[:MOST]]  # fmt: skip
    shown = chosen(wide, 0)
    assert len(shown) == CHARACTERS // 200_100
    assert 0 in shown


def test_dialogues_are_of_the_requests_that_are_shown_as_far_as_there_is_room():
    asked = ChatRequest(messages=(ChatMessage(role="user", text="y" * (CHARACTERS // 90)),)).model_dump_json()
    messages = [Message(number=n, proposal_request=n, role="coder", kind="prompt", text=asked) for n in range(200)]
    assert [d.proposal_request for d in told(messages, {3, 5})] == [3, 5]
    assert 80 < len(told(messages, None)) < 100


def test_marks_of_a_crowd_stand_for_those_beneath_them():
    few, many = (progress(LONG[:count], None, 1040).count('class="pt') for count in (CROWD, 3 * CROWD))
    assert few == CROWD
    assert many < 3 * CROWD
    assert f"attempt {BEST.number}:" in progress(LONG, None, 1040)
