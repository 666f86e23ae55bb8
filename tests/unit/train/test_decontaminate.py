"""What is like a task that models are judged on leaves a data set, and a report says which was like which."""

import json

import pytest

from kernelwright.errors import UsageError
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.train.data.decontaminate import ALIKE, Compared, compared, decontaminate
from kernelwright.train.data.sample import Judged, sample


def chain(*operations):
    nodes, value = [], "x"
    for number, op in enumerate(operations):
        arguments = (Argument(name="self", value=Ref(ref=value)), Argument(name="other", value=float(number)))
        nodes.append(OpNode(name=f"n{number}", op=op, arguments=arguments, result=(), bytes=0, flops=0))
        value = f"n{number}"
    return OpGraph(inputs=("x",), parameters=(), nodes=tuple(nodes), outputs=(value,))


def sample_of(name, graph):
    task = sample_task()
    source = task.source.model_copy(update={"name": name})
    task = task.model_copy(update={"source": source, "graph": graph})
    return sample("author", task, sample_attempt().proposal.candidate, Judged(outcome="verified"))


LONG = [f"op{n}" for n in range(20)]


def test_one_structure_is_one_task_whatever_its_numbers_and_names():
    assert Compared(chain("exp", "sum")).likeness(Compared(chain("exp", "sum"))) == 1.0
    assert Compared(chain("exp", "sum")).likeness(Compared(chain("sum", "exp"))) < ALIKE


def test_one_operation_of_many_more_is_nearly_the_same_and_another_order_is_not():
    long = Compared(chain(*LONG))
    assert ALIKE <= long.likeness(Compared(chain(*LONG, "tail"))) < 1.0
    assert long.likeness(Compared(chain(*LONG[::-1]))) < ALIKE


def test_what_is_the_same_or_nearly_is_dropped_and_the_rest_is_counted_by_its_likeness():
    samples = [
        sample_of("same", chain("exp", "sum")), sample_of("near", chain(*LONG, "tail")),
        sample_of("half", chain("exp", "exp")), sample_of("other", chain("tanh")),
    ]  # fmt: skip
    found = compared(samples, {"a.py": chain("exp", "sum"), "b.py": chain(*LONG)})
    assert [(one.sample, one.task) for one in found.dropped] == [("same", "a.py"), ("near", "b.py")]
    assert (found.same, found.samples, found.tasks) == (1, 4, 2)
    assert sum(found.nearest.values()) == 2
    assert found.nearest["0.0"] == 1


def test_of_two_modules_of_one_name_the_one_that_is_like_no_task_stays(data):
    folder, tasks = data
    made = [sample_of("twin", chain("exp", "sum")), sample_of("twin", chain("tanh"))]
    (folder / "samples.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in made))
    assert len(decontaminate(folder, [tasks], Suppliers(), lambda _: None).dropped) == 1
    assert len((folder / "samples.jsonl").read_text().splitlines()) == 1


class Suppliers:
    """Gives a referee that admits one task, whose graph is a sample's."""

    def open_evaluator(self, _policy):
        return self

    async def admit(self, source, target):
        assert not target.present
        if "refused" in source.source:
            raise UsageError("refused\nwith more")
        return sample_task().model_copy(update={"graph": chain("exp", "sum")})

    async def close(self):
        pass


@pytest.fixture
def data(tmp_path):
    folder, tasks = tmp_path / "set", tmp_path / "tasks"
    folder.mkdir()
    tasks.mkdir()
    made = [sample_of("same", chain("exp", "sum")), sample_of("other", chain("tanh"))]
    (folder / "samples.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in made))
    (tasks / "a.py").write_text(sample_task().source.source)
    (tasks / "b.py").write_text(sample_task().source.source + "\n# refused\n")
    return folder, tasks


def test_the_set_its_card_and_a_report_are_written(data):
    folder, tasks = data
    found = decontaminate(folder, [tasks], Suppliers(), lambda _: None)
    assert [one.sample for one in found.dropped] == ["same"]
    assert found.unread == {str(tasks / "b.py"): "refused"}
    kept = [json.loads(line)["task"]["source"]["name"] for line in (folder / "samples.jsonl").read_text().splitlines()]
    assert kept == ["other"]
    assert "like a task that models are judged on | 1" in (folder / "card.md").read_text()
    assert json.loads((folder / "decontaminated.json").read_text())["tasks"] == 1


@pytest.mark.parametrize("lacking", ["set", "tasks"])
def test_nothing_to_compare_is_said(data, tmp_path, lacking):
    folder, tasks = data
    (tmp_path / "empty").mkdir()
    given = (tmp_path / "empty", tasks) if lacking == "set" else (folder, tmp_path / "empty")
    with pytest.raises(UsageError, match="holds no"):
        decontaminate(given[0], [given[1]], Suppliers(), lambda _: None)
