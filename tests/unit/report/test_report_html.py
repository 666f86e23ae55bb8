"""The page as text: complete, self-contained, closed to hostile text. How it looks is a browser's test."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

import fake_runs as fake
from kernelwright.records.attempt import fastest
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.records.measure import Ratio
from kernelwright.records.run import Outcome
from kernelwright.report.html import Files, render, script, usage
from kernelwright.testing.samples import sample_evaluation


class Tags(HTMLParser):
    """Collects elements and visible text."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.words = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def pages():
    run = fake.long_run()
    long = fake.one_of_each("y" * 100_000)
    big = fake.attempt(0, fake.measured(), source=fake.KERNEL + "int a = 1;\n" * 2000)
    return {
        "final": render(fake.card(), run, fake.ended(fastest(run))),
        "every": render(fake.card(), fake.one_of_each(), None),
        "hostile": render(fake.card(name=fake.HOSTILE), fake.one_of_each(fake.NASTY), None),
        "empty": render(fake.card(), [], None),
        "stopped": render(fake.card(), [], Outcome(best=None, stopped="no money")),
        "long lines": render(fake.card(), long, None),
        "long kernel": render(fake.card(), [big], fake.ended(big)),
    }


PAGES = pages()


@pytest.fixture(params=PAGES)
def page(request):
    return PAGES[request.param]


def test_nothing_is_loaded_and_nothing_runs_but_the_copy_buttons(page):
    tags = Tags(page).found
    assert page.count("<script") == 1 and f"<script>{script()}</script>" in page
    assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & {t for t, _ in tags}
    for tag, attributes in tags:
        assert not [a for a in attributes if a.startswith("on") or a in {"src", "srcset", "style"}], tag
        assert attributes.get("href", "#").startswith("#")
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_names_style_and_script_by_their_hashes(page):
    digests = []
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digests.append(base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())
    wanted = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'"
    assert wanted.format(*digests) in page


def test_it_can_be_encoded_and_stays_small(page):
    assert len(page.encode()) < 2_000_000
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


def test_every_attempt_and_outcome_is_there():
    tags = Tags(PAGES["every"])
    ids = [a["id"] for _, a in tags.found if a.get("id", "").startswith("attempt-")]
    assert ids == [f"attempt-{n}" for n in range(9)]
    for name in OUTCOMES:
        assert name.replace("_", " ") in tags.text
    assert "killed by SIGSEGV" in tags.text
    assert "Against attempt 3" in tags.text


def test_links_lead_somewhere(page):
    tags = Tags(page).found
    ids = {a["id"] for _, a in tags if "id" in a}
    assert {a["href"][1:] for t, a in tags if t == "a"} <= ids
    assert len(ids) == len([1 for _, a in tags if "id" in a])


def test_the_headline_of_a_final():
    text = Tags(PAGES["final"]).text
    assert "3.10× as fast as eager PyTorch" in text
    assert "99 % interval 3.01× to 3.19×" in text
    assert "Neither faster nor slower than torch.compile can be claimed" in text
    assert "tier 2: the candidate's own host code ran" in text
    assert "PID namespace: a candidate could see other processes" in text
    assert "×1e30: the fp64 reference is not finite" in text
    assert "the same candidate; nothing was run again" in text


def test_a_baseline_that_it_was_not_compared_with_is_named():
    run = fake.long_run()
    why = "torch.compile was not done tuning after 90 s"
    page = render(fake.card(), run, fake.without(fake.ended(fastest(run)), f"compile_max: {why}"))
    assert f"Not compared with torch.compile (max-autotune): {why}." in Tags(page).text
    assert "Not compared" not in Tags(PAGES["final"]).text


def test_search_figures_are_labelled():
    assert "search figure" in Tags(PAGES["every"]).text
    assert "against eager PyTorch · search figure" not in Tags(PAGES["final"]).text


def test_nothing_to_show_is_said():
    assert "No right kernel yet" in Tags(PAGES["empty"]).text
    assert "Stopped: no money" in Tags(PAGES["stopped"]).text


def test_untimed_kernels_show_no_time():
    found = fake.attempt(0, fake.every_outcome()[7], language="triton")
    text = Tags(render(fake.card(present=False), [found], Outcome(best=0, stopped="spent"))).text
    assert "Triton kernel for sm_90: verified, not timed" in text
    assert "registers" in text
    assert "Raw samples" not in text
    assert "Roofline" not in text


def test_switched_off_defences_are_in_alarm():
    found = fake.attempt(0, fake.measured(disabled=("poison",)))
    page = render(fake.card(), [found], fake.ended(found))
    assert 'role="alert"><b>Defences were switched off in this run: poison.' in page


def test_hostile_text_is_shown_as_text():
    text = Tags(PAGES["hostile"]).text
    assert "<img src=x onerror=" in text
    assert "{{ 7*7 }}" in text
    assert "⟨U+202E⟩" in text


def test_what_was_taken_from_the_cache_says_from_which_run():
    taken = fake.measured().model_copy(update={"cached_from": f"20260101-{fake.HOSTILE}"})
    page = render(fake.card(), [fake.attempt(0, taken)], None)
    assert "taken from the search cache: run 20260101-" in Tags(page).text
    assert page.count("<script") == 1


def test_how_to_use_the_kernel():
    found = fake.attempt(0, fake.measured())
    where = Files(kernel="my runs/r1/model_new.py", receipt="my runs/r1/receipt.json")
    text = Tags(render(fake.card(), [found], fake.ended(found), (), where)).text
    assert "one file that needs PyTorch and a C++ compiler, and not Kernelwright" in text
    assert "my runs/r1/model_new.py" in text
    assert "from model_new import ModelNew" in text
    assert "kernelwright verify 'my runs/r1/receipt.json'" in text
    assert "new = ModelNew()" in text and "y = new(" in text and "ModelNew(...)" not in text
    assert "Use it" not in Tags(render(fake.card(), [found], fake.ended(found))).text


def test_the_drop_in_is_called_in_the_words_of_the_task():
    source = "class Model(nn.Module):\n    def __init__(self, width, eps=1e-6): ...\n    def forward(self, x, residual): ...\n"
    task = fake.task()
    weighted = task.workload.model_copy(update={"parameters": task.workload.tensors[:1]})
    named = task.model_copy(update={"source": task.source.model_copy(update={"source": source}), "workload": weighted})
    told = usage(named, "fast")
    assert "from fast import ModelNew" in told
    assert "new = ModelNew(width, eps)  # as Model is" in told and "y = new(x, residual)" in told
    assert "load_state_dict" in told
    plain = task.model_copy(update={"source": task.source.model_copy(update={"source": "no Python"})})
    inputs = ", ".join(i.name for i in task.workload.inputs)
    assert f"y = new({inputs})" in usage(plain, "fast") and "load_state_dict" not in usage(plain, "fast")


def test_the_final_figure_stands_wherever_the_best_is_shown():
    run = [fake.attempt(0, fake.measured(4.4)), fake.attempt(1, fake.measured(1.2), (0,))]
    page = render(fake.card(), run, fake.ended(run[0], eager=2.05, compiled=0.99))
    rows = re.findall(r'<span class="got">(.*?)</span>', page, re.S)
    best, other = (" ".join(re.sub(r"<[^>]+>", "", row).split()) for row in rows)
    assert best == "11.0 ms · 2.05× eager · 0.99× compile in the search 4.40× eager · 1.01× compile"
    assert other == "18.8 ms · 1.20× eager · 1.01× compile"
    assert "Measured anew, the best takes 11.0 ms." in Tags(page).text


def test_ceiling_and_floor_are_told_apart():
    found = fake.attempt(0, fake.measured())
    text = Tags(render(fake.card(), [found], fake.ended(found))).text
    assert "at the ceiling 6.27 ms, floor 4.18 ms" in text
    assert "The ceiling is the bandwidth that a plain kernel reached on this device in this run" in text
    assert "The floor lies below it on purpose" in text


@pytest.mark.parametrize("guarded", [True, False])
def test_the_page_says_whether_the_drop_in_is_guarded(guarded):
    best = fake.attempt(0, fake.measured())
    files = Files(kernel="runs/x/model_new.py", guarded=guarded)
    page = render(fake.card(), [best], fake.ended(best), (), files)
    assert ("own code answers" in page) == guarded
    assert ("with no guards" in page) != guarded


def test_what_was_timed_on_a_busy_machine_is_not_said_to_have_no_time():
    found = fake.measured()
    wide = Ratio(median=2.0, low=0.33, high=11.1, confidence=0.99)
    versus = tuple(v.model_copy(update={"speedup": wide}) for v in found.timing.versus)
    doubtful = found.model_copy(update={"timing": found.timing.model_copy(update={"versus": versus})})
    titles = [render(fake.card(), [fake.attempt(0, one)], None) for one in (found, doubtful)]
    assert "Speedup over eager, attempt by attempt" in titles[0]
    assert "Attempt by attempt; no figure can be claimed" in titles[1]
    untimed = fake.attempt(0, sample_evaluation("verified"))
    assert "nothing was timed" in render(fake.card(), [untimed], None)
