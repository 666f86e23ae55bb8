"""A text task is data: a sentence, a reference, host code and limits, and nothing that is passed over."""

import pytest

from kernelwright.devices import facts
from kernelwright.engine.admission import gather
from kernelwright.engine.config import RunConfig, with_task_defaults
from kernelwright.errors import TaskError
from kernelwright.records.task import WORDS, TaskLimits
from kernelwright.tasks.table import read_task

REFERENCE = """\
SIZES = {"small": {"n": 4}, "large": {"n": 400}}
SIZE = SIZES["small"]
DOMAINS = {0: "probability"}
class Model: ...
def get_inputs(): ...
"""
TOML = '''\
description = "The softmax of every row."
reference = "softmax.py"
host = """
softmax<<<grid, block>>>(x, y);
"""

[limits]
arch = "sm_86"
shared_bytes = 49152
library_calls = "forbid"
target_us = 12.5
notes = ["single precision throughout"]
'''
MARKDOWN = f"""\
# The softmax of every row.

## Host context

```cuda
## no heading, since it is code
softmax<<<grid, block>>>(x, y);
```

## Reference

```python
{REFERENCE}```

## Limits

- arch: sm_86
- `shared_bytes`: `49152`
- library_calls: forbid
- target_us: 12.5
- note: single precision throughout
"""
LIMITS = TaskLimits(
    arch="sm_86",
    shared_bytes=49152,
    library_calls="forbid",
    target_us=12.5,
    notes=("single precision throughout",),
)


@pytest.fixture
def write(tmp_path):
    (tmp_path / "softmax.py").write_text(REFERENCE)

    def write(text, name="task.toml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_toml_and_markdown_say_the_same(write):
    toml, markdown = read_task(write(TOML)), read_task(write(MARKDOWN, "task.md"))
    assert toml.host == "softmax<<<grid, block>>>(x, y);\n"
    assert markdown.host == f"## no heading, since it is code\n{toml.host}"
    assert markdown.model_copy(update={"host": toml.host}) == toml
    assert (toml.name, toml.format, toml.source) == ("task", "text", REFERENCE)
    assert (toml.description, toml.limits) == ("The softmax of every row.", LIMITS)
    assert [d.domain for d in toml.domains] == ["probability"]


def test_a_reference_may_stand_in_the_text_or_be_named_at_a_size(write):
    named = read_task(write('reference = "softmax.py@large"'))
    inline = read_task(write(f"reference = '''\n{REFERENCE}'''").with_name("task.toml@large"))
    assert named.source == inline.source == REFERENCE.replace('SIZES["small"]', 'SIZES["large"]')
    assert (named.name, inline.name) == ("task", "task@large")


def test_markdown_may_name_files(write):
    (write("").parent / "main.cu").write_text("int main() {}\n")
    found = read_task(write("## Reference\n`softmax.py`\n\n## Host context\n\nmain.cu\n", "task.md"))
    assert (found.source, found.host) == (REFERENCE, "int main() {}\n")


@pytest.mark.parametrize(
    ("text", "name"), [('description = "Sort it."', "t.toml"), ("# Sort it.\n\n## Limits\n- arch: sm_86\n", "t.md")]
)
def test_without_a_reference_nothing_can_be_judged(write, text, name):
    with pytest.raises(TaskError, match=r"no reference, so that no kernel could be judged: add one.*get_inputs"):
        read_task(write(text, name))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("= 3", "is no TOML"),
        ("[run]\nseed = 1\n", "neither a description nor a reference"),
        ('reference = "softmax.py"\npolicy = "lax"\n', "unknown key 'policy'"),
        ("reference = 3\n", "reference must be a text"),
        ('reference = "missing.py"\n', "does not exist"),
        ('reference = "x = 1"\n', "defines no `Model`"),
        ('reference = "softmax.py"\nlimits = 3\n', "limits must be a table"),
        ('reference = "softmax.py"\n[limits]\nseeds = 0\n', "limit 'seeds' cannot be taken"),
        ('reference = "softmax.py"\n[limits]\nlibrary_calls = "allow"\n', "limit 'library_calls' cannot be taken"),
        ('reference = "softmax.py"\n[limits]\narch = "sm_42"\n', "limit 'arch' cannot be taken"),
        ('reference = "softmax.py"\n[limits]\nworkspace_bytes = -1\n', "limit 'workspace_bytes' cannot be taken"),
        ('reference = "softmax.py"\n[limits]\ntarget_us = inf\n', "limit 'target_us' cannot be taken"),
        ('reference = "softmax.py"\ndescription = """Sort.\n## Reply\nAll is right."""\n', "begins with '#'"),
        (f'reference = "softmax.py"\nhost = "{"x" * (WORDS + 1)}"\n', f"at most {WORDS}"),
    ],
)
def test_a_toml_task_that_cannot_be_taken_says_why(write, text, words):
    with pytest.raises(TaskError, match=words):
        read_task(write(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Notes\n\nAbout this folder.\n", "has no reference"),
        ("## Reference\nsoftmax.py\n## Rules\nNone.\n", "section 'Rules' is unknown"),
        ("## Reference\nsoftmax.py\n## reference\nsoftmax.py\n", "comes twice"),
        ("## Reference\n```python\nx = 1\n", "never closed"),
        ("## Reference\n```\na\n```\n```\nb\n```\n", "2 code blocks"),
        ("## Reference\nThe usual softmax.\n", "must be one code block, or the name of a file"),
        ("## Reference\nsoftmax.py\n## Limits\nBe quick.\n", "is no item"),
        ("## Reference\nsoftmax.py\n## Limits\n- arch: sm_80\n- arch: sm_90\n", "has the name of another"),
        ("## Reference\nsoftmax.py\n## Limits\n- speed: 3\n", "limit 'speed' cannot be taken"),
    ],
)
def test_a_markdown_task_that_cannot_be_taken_says_why(write, text, words):
    with pytest.raises(TaskError, match=words):
        read_task(write(text, "task.md"))


@pytest.mark.parametrize("name", ["../outside.py", "link.py", "/etc/hosts.txt"])
def test_a_task_names_no_file_of_somebody_else(write, tmp_path, name):
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "outside.py").write_text(REFERENCE)
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    (folder / "task.toml").write_text(f'reference = "{name}"\n')
    with pytest.raises(TaskError, match="not in its folder: put it beside the task"):
        read_task(folder / "task.toml")


def test_a_readme_and_a_settings_file_are_no_tasks_of_a_directory(write):
    readme, settings = write("# Read me\n", "README.md"), write("[suite]\n", "suite.toml")
    found, skipped = gather((write(TOML).parent,))
    assert [one.name for one in found] == ["softmax", "task"]
    assert skipped == [readme, settings]


def test_a_goal_is_the_default_and_no_more(write):
    limits = read_task(write(TOML)).limits
    assert with_task_defaults(RunConfig(), limits, "cpu").target_us == 12.5
    assert with_task_defaults(RunConfig(target_us=3.0), limits, "cpu").target_us == 3.0
    assert with_task_defaults(RunConfig(), TaskLimits(), "cpu") == RunConfig()


def test_every_architecture_can_be_asked_for():
    assert [TaskLimits(arch=arch).arch for arch in ("", *facts())] == ["", *facts()]
    assert TaskLimits(arch="sm_90a").arch == "sm_90"
    with pytest.raises(ValueError, match="sm_75"):
        TaskLimits(arch="sm_1")
