"""The HTML report: one file that needs no network and treats everything it shows as hostile text.

The page's security policy loads nothing and names its one style sheet and its one script, the copy buttons, by hash;
without scripts the page is whole but for them. It takes records only; whoever holds the store passes them in.
"""

import ast
import base64
import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kernelwright.devices import kinds
from kernelwright.languages import language, languages
from kernelwright.records.admission import REASON_MEANING, Admission
from kernelwright.records.answer import FULL_NAME, compared, figure, sentence, times, word
from kernelwright.records.attempt import Attempt
from kernelwright.records.brief import briefs
from kernelwright.records.measure import Ratio
from kernelwright.records.run import Message, Outcome, RunCard, spending
from kernelwright.records.task import Task
from kernelwright.report import selection, tally, words
from kernelwright.report.charts.evaluation import errors, roofline, ruler, samples
from kernelwright.report.charts.run import Share, progress, shares
from kernelwright.report.charts.svg import HALF, NARROW, WIDE
from kernelwright.report.charts.walk import walked, ways
from kernelwright.report.charts.workloads import describe_workloads, table, workloads
from kernelwright.report.dialogues import is_drill
from kernelwright.report.headline import Headline, headline, left_out
from kernelwright.report.selection import MESSAGE_LIMIT, chosen
from kernelwright.report.tally import SOURCE_LIMIT, highlighted, plain, reason, rows, writer
from kernelwright.version import __version__

TEXT_LIMIT = 4000
"""Characters of a note, a reason or a name; logs and sources have limits of their own."""


PYTHON = """from {module} import ModelNew

new = ModelNew({made}){as_model}
{weights}with torch.no_grad():
    y = new({called})
"""
WEIGHTS = "new.load_state_dict(old.state_dict())  # the weights of the module whose place it takes\n"


@dataclass(frozen=True)
class Files:
    """What a run has left, as paths that a command line takes; empty for what is not there."""

    kernel: str = ""
    """The best kernel as a drop-in `ModelNew`."""
    receipt: str = ""
    unproved: str = ""
    """Why nothing proves that the run's records are what was written; empty where their seals do."""
    guarded: bool = True
    """Whether the drop-in calls `Model` for what its kernel is not for; a module that a model wrote is as it was judged."""
    folder: str = ""
    """The run's folder."""
    table: str = ""
    """The name of the table of all attempts, in the page's folder."""
    wanted: tuple[int, ...] = ()
    """Attempts that are asked for in full."""


NO_FILES = Files()


@dataclass(frozen=True)
class UseStep:
    """Something to copy, and what it is for."""

    title: str
    text: str


def usage(task: Task, module: str) -> str:
    """How the drop-in is made and called, in the names of the task's own `Model`."""
    try:
        tree = ast.parse(task.source.source)
    except SyntaxError:
        tree = ast.Module([], [])
    model = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"), None)
    methods = [n for n in model.body if isinstance(n, ast.FunctionDef)] if model else []
    names = {n.name: [a.arg for a in (*n.args.posonlyargs, *n.args.args)][1:] for n in methods}
    made = ", ".join(names.get("__init__", ()))
    called = ", ".join(names.get("forward") or (i.name for i in task.workload.inputs))
    return PYTHON.format(
        module=module,
        made=made,
        called=called,
        as_model="  # as Model is" if made else "",
        weights=WEIGHTS if task.workload.parameters else "",
    )


def steps(task: Task, files: Files) -> list[UseStep]:
    """From the file to a call and a check; nothing where no drop-in was written."""
    if not files.kernel:
        return []
    module = files.kernel.rsplit("/", 1)[-1].removesuffix(".py")
    found = [
        UseStep("The file", files.kernel),
        UseStep("In place of Model", usage(task, module)),
    ]
    if files.receipt:
        found.append(
            UseStep("Measure it again, here or elsewhere", f"kernelwright verify {shlex.quote(files.receipt)}")
        )
    return found


def needs(best: Attempt) -> str:
    """What a drop-in needs beside PyTorch, in a kernel's language."""
    how = language(best.proposal.candidate.language).drop_in
    return {"compiled": " and a C++ compiler", "launched": " and NVRTC"}.get(how, " and what the kernel imports")


def render(
    card: RunCard,
    attempts: Sequence[Attempt],
    outcome: Outcome | None,
    messages: Iterable[Message] = (),
    files: Files = NO_FILES,
) -> str:
    """The whole page; `outcome` is None for a run that has not ended."""
    told = headline(card, attempts, outcome)
    best = told.attempt.number if told.attempt else None
    walk, known, shown = walked(attempts, best), briefs(attempts), chosen(attempts, best, files.wanted)
    whole = len(shown) == len(known)
    requests = None if whole else {known[n].request for n in shown}
    spent = spending(messages)
    return page(
        "report.html.j2",
        card=card,
        run_outcome=outcome,
        told=told,
        use=steps(card.task, files),
        guarded=files.guarded,
        unproved=files.unproved,
        needs=needs(told.attempt) if told.attempt else "",
        rows=rows(attempts, best, shown),
        total=len(known),
        files=files,
        best=rows([told.attempt], best)[0] if told.attempt else None,
        counts=_outcome_shares(attempts),
        stages=_stage_shares(attempts),
        timed=bool(tally.staircase(attempts)),
        clocked=any(attempt.outcome == "measured" for attempt in known),
        cost=tally.cost(attempts),
        disabled=tally.disabled(attempts, told.attempt),
        other_work=tally.other_work(attempts, told.attempt),
        settings=_settings(card),
        walk=walk,
        ways={w: ways(walk, w) for w in (WIDE, NARROW)} if walk else {},
        progress={w: progress(attempts, _final_ratio(told), w, set(shown)) for w in (WIDE, NARROW)},
        dialogues=selection.told(messages, requests),
        drill=is_drill(spent),
        spent_by_role=spent,
        message_limit=MESSAGE_LIMIT,
        by=partial(writer, card),
    )


def render_table(card: RunCard, attempts: Sequence[Attempt], outcome: Outcome | None, report: str) -> str:
    """A line for each attempt, to lie beside the page `report`; empty where that one has them all in full."""
    told, known = headline(card, attempts, outcome), briefs(attempts)
    shown = chosen(attempts, told.attempt.number if told.attempt else None)
    if len(shown) == len(known):
        return ""
    return page("attempts.html.j2", card=card, attempts=known, shown=set(shown), report=report)


def figures(card: RunCard, attempts: Sequence[Attempt], outcome: Outcome | None) -> dict[str, str]:
    """The page's charts as SVG files of their own, by name, for a paper or a slide; those that there are figures for."""
    text = headline(card, attempts, outcome)
    charts = {"progress": progress(attempts, _final_ratio(text), WIDE)}
    if walk := walked(attempts, text.attempt.number if text.attempt else None):
        charts["walk"] = ways(walk, WIDE)
    if (found := text.measured) is not None:
        versus = found.timing.versus
        charts |= {f"speedup-{v.baseline}": ruler(v, versus, HALF) for v in versus}
        if found.workloads:
            charts["workloads"] = workloads(found.workloads, WIDE)
        else:
            charts["samples"] = samples(found.timing, HALF)
        charts["roofline"] = roofline(found.roofline, found.timing.latency_us, HALF)
        charts["errors"] = errors(found.accuracy, WIDE)
    drawn = {f"{name}.svg": alone(chart) for name, chart in charts.items()}
    return drawn | ({"workloads.csv": table(found.workloads)} if found is not None and found.workloads else {})


def alone(chart: Markup) -> str:
    """A chart as a file: with its own colours, light or dark, and the card behind it."""
    rules = "".join(map(template_text, ("colours.css", "chart.css")))
    head, body = str(chart).split(">", 1)
    width, height = head.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    size = f'xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    paper = '<rect width="100%" height="100%" fill="var(--card)"/>'
    rules += f".chart {{ width: {width}px; height: {height}px; }}"  # on a page it takes the room that there is
    return f"{head.replace('<svg', f'<svg {size}', 1)}><style>{rules}</style>{paper}{body}\n"


def _final_ratio(told: Headline) -> Ratio | None:
    found = told.measured if told.standing == "final" else None
    versus = found.timing.against("eager") if found else None
    return versus.speedup if versus and not versus.speedup.wild else None


def _outcome_shares(attempts: Sequence[Attempt]) -> list[Share]:
    found = tally.counts(attempts)
    return [Share(words.outcome(n), v, f"o-{n}", str(v)) for n, v in found.items()]


def _stage_shares(attempts: Sequence[Attempt]) -> list[Share]:
    found = tally.stage_seconds(attempts)
    return [Share(n, v, f"k-{i % 6}", words.seconds(v)) for i, (n, v) in enumerate(found.items())]


def _settings(card: RunCard) -> list[tuple[str, str]]:
    """The resolved configuration as dotted keys."""
    flat: list[tuple[str, str]] = []
    waiting = list(card.config.items())
    while waiting:
        key, value = waiting.pop(0)
        if isinstance(value, dict) and value:
            waiting = [(f"{key}.{inner}", v) for inner, v in value.items()] + waiting
        else:
            flat.append((key, value if isinstance(value, str) else json.dumps(value)))
    return flat


def page(template: str, rules: str = "", program: str | None = None, **shown: object) -> str:
    """A template as one file, in the style of every page and, after it, `rules`; the policy names them by hash.

    `program` is the page's own script; without one it has the copy buttons'.
    """
    rules, code = style() + rules, script() if program is None else program
    body = templates().get_template(template)
    return body.render(shown, style=Markup(rules), script=Markup(code), policy=policy(rules, code), version=__version__)


def policy(style: str, script: str) -> Markup:
    """A content security policy: nothing is loaded, this style sheet applies, this script runs, and no other."""
    return Markup(
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def script() -> str:
    """The copy buttons."""
    return template_text("copy.js")


def template_text(name: str) -> str:
    """A file of the templates as it is."""
    return (files("kernelwright.report") / "templates" / name).read_text("utf-8")


@cache
def style() -> str:
    """The style sheet of every page."""
    return "".join(map(template_text, ("colours.css", "page.css", "parts.css", "chart.css")))


@cache
def templates() -> Environment:
    """Templates that make whatever they show visible and harmless."""
    found = Environment(
        loader=PackageLoader("kernelwright.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for shown in (
        words.outcome,
        times,
        figure,
        compared,
        word,
        words.microseconds,
        words.seconds,
        words.size,
        words.error,
        words.percent,
        words.line,
        highlighted,
        plain,
        sentence,
        left_out,
        reason,
    ):
        found.filters[shown.__name__] = shown
    found.globals.update(
        errors=errors,
        roofline=roofline,
        ruler=ruler,
        samples=samples,
        workloads=workloads,
        describe_workloads=describe_workloads,
        shares=shares,
        meaning=words.OUTCOME_MEANING,
        baseline=FULL_NAME,
        titles={each.name: each.title for each in languages()},
        source_limit=SOURCE_LIMIT,
        kinds=kinds(),
        wide=WIDE,
        half=HALF,
        narrow=NARROW,
    )
    return found


def _shown(value: object) -> object:
    """Every plain string on its way into the page, visible and of bounded length; our own markup passes."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return words.visible(words.clip(value, TEXT_LIMIT))
    return value


def render_admission(admission: Admission) -> str:
    """The page of a directory's admission: which tasks are fit, and why the others are not."""
    reasons = Counter(task.reason for task in admission.tasks if task.reason is not None)
    return page(
        "admission.html.j2",
        admission=admission,
        reasons=reasons.most_common(),
        meanings=REASON_MEANING,
        fit=sum(task.fit for task in admission.tasks),
        warned=sum(bool(task.warnings) for task in admission.tasks),
    )
