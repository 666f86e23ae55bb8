"""What holds for every record: frozen, closed, plain data that is read back equal."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from record_strategies import RECORDS, build

from kernelwright.records.measure import CaseError, Ratio
from kernelwright.records.tensor import Scalar

FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@FEW
@given(data=st.data())
def test_any_record_is_read_back_equal(record, data):
    value = data.draw(build(record))
    again = record.model_validate_json(value.model_dump_json())
    assert again == value
    assert again.model_dump_json() == value.model_dump_json()
    assert repr(again) == repr(value)  # equality alone takes 1 for True


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_record_is_frozen_and_closed(record):
    assert record.model_config["frozen"] is True
    assert record.model_config["extra"] == "forbid"
    assert record.__doc__, "a noun is explained"


def test_a_record_cannot_be_changed():
    ratio = Ratio(median=1.0, low=0.9, high=1.1, confidence=0.99)
    with pytest.raises(ValidationError, match="frozen"):
        ratio.median = 2.0


def test_a_field_that_nobody_declared_is_refused():
    with pytest.raises(ValidationError, match="Extra inputs"):
        Ratio(median=1.0, low=0.9, high=1.1, confidence=0.99, mean=1.0)


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinite_errors_survive_json(value):
    case = CaseError(distribution="times 3", error=value, reference_error=0.0, allowed=1e-7)
    assert CaseError.model_validate_json(case.model_dump_json()).error == value


@pytest.mark.parametrize("value", [True, False, 0, 1, 2, 0.0, 1.0, 2.5, float("inf")])
def test_a_number_among_the_inputs_keeps_its_type(value):
    scalar = Scalar(name="eps", value=value)
    again = Scalar.model_validate_json(scalar.model_dump_json())
    assert [type(s.value) for s in (scalar, again)] == [type(value)] * 2
    assert scalar.value == again.value == value
