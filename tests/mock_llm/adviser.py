"""Replies of judges and reflectors: what they read in the prompt, and nothing else. They never look at the code."""

import json
import re

from mock_llm.prompt import Prompt, named

ERROR = re.compile(r"error|undefined|not defined|not declared|invalid|expected|syntax|traceback", re.IGNORECASE)
METRIC = re.compile(r'\b([A-Za-z_]\w*)"?\s*:\s*-?\d')
FINDING = re.compile(r"^\s*\d+\. (.+)$", re.MULTILINE)
SILENT = "Nothing was shown that says what is wrong."


def repair(prompt: Prompt) -> str:
    """One cause, as the first line of the evidence has it."""
    found = evidence(prompt)
    return json.dumps({
        "critical_issue": _words(found or SILENT, 40),
        "why_it_matters": "The referee takes no kernel with it." if found else "Without evidence any change is a guess.",
        "minimal_fix_hint": "Change what this names, and nothing else." if found else "Show the log or the mismatch.",
    })  # fmt: skip


def improve(prompt: Prompt) -> str:
    """The bottleneck that the profile names first."""
    profile = _under(prompt, "profile")
    classes = named(profile)
    findings = FINDING.findall(profile)
    told = _words(findings[0], 24) if findings else ""
    bottleneck = f"{classes[0]}: {told}".rstrip(": ") if classes else "unknown"
    method = f"Ease the {classes[0]} bottleneck." if classes else "Measure first."
    return json.dumps({
        "metrics": list(dict.fromkeys(METRIC.findall(profile)))[:4],
        "bottleneck": bottleneck,
        "method": method,
        "plan": "Remove what makes the kernel wait for it." if classes else "Keep the kernel as it is.",
    })  # fmt: skip


def reflect(prompt: Prompt) -> str:
    """The evidence and the bottleneck, quoted."""
    profile = _under(prompt, "profile")
    parts = [f"What was found: {found}" for found in [evidence(prompt)] if found]
    parts += [f"The bottleneck: {found}." for found in named(profile)[:1]]
    return "\n".join(parts) or SILENT


def evidence(prompt: Prompt) -> str:
    """The first line of the compiler's log that tells of an error, or of the mismatch."""
    log = [line.strip() for line in _under(prompt, "compiler log").split("\n") if ERROR.search(line)]
    wrong = [line.strip() for line in _under(prompt, "mismatch").split("\n") if re.search(r"\d", line)]
    return next(iter([*log, *wrong]), "")


def _under(prompt: Prompt, title: str) -> str:
    found = [s.body for s in prompt.sections if s.title == title]
    return found[-1] if found else ""


def _words(text: str, most: int) -> str:
    return " ".join(text.split()[:most])
