"""What a model may call: schemas that say what the records say, and a page that says what the schemas say."""

import json
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from kernelwright.records.evaluation import OUTCOMES
from kernelwright.records.feedback import Feedback
from kernelwright.records.tools import (
    ANSWERS,
    ARGUMENTS,
    CODE_CHARACTERS,
    RESULTS,
    TOOLS,
    CodeArguments,
    EvaluateResult,
    SearchArguments,
)
from kernelwright.testing.samples import sample_attempt

NAMES = ["compile", "verify", "evaluate", "profile", "search", "submit"]
PAGE = Path(__file__).parents[3] / "docs" / "tools.md"


def test_every_tool_has_arguments_and_an_answer():
    assert [tool.name for tool in TOOLS] == list(ARGUMENTS) == list(RESULTS) == list(ANSWERS) == NAMES
    assert all(tool.description for tool in TOOLS)


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_a_schema_is_closed_bounded_and_plain(tool):
    schema = tool.parameters
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    for name, field in schema["properties"].items():
        assert field["description"], name
        assert {"maxLength", "maximum", "enum"} & field.keys(), name
    assert '"title":' not in json.dumps(schema)
    assert json.loads(json.dumps(schema)) == schema


def test_a_field_called_title_is_no_title_of_a_schema():
    assert "title" in ANSWERS["search"]["$defs"]["FoundCard"]["properties"]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_every_argument_and_every_field(name):
    (row,) = re.findall(rf"^\| `{name}` \|(.*)\|(.*)\|.*\|$", PAGE.read_text(), re.MULTILINE)
    told = [re.findall(r"`(\w+)`", cell) for cell in row]
    spec = next(tool for tool in TOOLS if tool.name == name)
    assert told == [list(spec.parameters["properties"]), list(ANSWERS[name]["properties"])]


@pytest.mark.parametrize(
    ("record", "arguments"),
    [
        (CodeArguments, {}),
        (CodeArguments, {"code": "x" * (CODE_CHARACTERS + 1)}),
        (CodeArguments, {"code": "x", "language": "fortran"}),
        (CodeArguments, {"code": "x", "shell": "rm"}),
        (SearchArguments, {"query": "x", "limit": 0}),
        (SearchArguments, {"query": "x", "limit": 99}),
        (SearchArguments, {"query": "x" * 501}),
    ],
)
def test_arguments_out_of_bounds_are_refused(record, arguments):
    with pytest.raises(ValidationError):
        record.model_validate(arguments)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_attempt_of_every_outcome_can_be_told(outcome):
    attempt = sample_attempt(3, outcome)
    feedback = Feedback(attempt=3, reward=0.5, words="words", works=outcome in ("measured", "verified"))
    told = EvaluateResult.of(attempt, feedback, best=2, trials_left=6)
    assert (told.attempt, told.outcome, told.words) == (3, outcome, "words")
    assert (told.reward, told.best, told.trials_left) == (0.5, 2, 6)
    assert (told.latency_us is not None) == bool(told.versus) == (outcome == "measured")
