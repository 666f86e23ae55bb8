"""What a Python module surely lacks, and that whatever could define a name counts as doing so."""

import pytest

from kernelwright.tasks.kernel_file import made, surely_lacks


@pytest.mark.parametrize(
    "source",
    [
        "class fast: ...",
        "class fast: ...\ndef other(): return ModelNew",
        "# ModelNew\nimport torch",
        "other.ModelNew = fast",
        "",
    ],
)
def test_what_no_statement_defines_is_lacking(source):
    assert surely_lacks(source, {"ModelNew"})


@pytest.mark.parametrize(
    "source",
    [
        "class ModelNew: ...",
        "def ModelNew(): ...",
        "ModelNew = make()",
        "a, (b, ModelNew) = make()",
        "ModelNew: type = make()",
        "if True:\n    class ModelNew: ...",
        "from other import ModelNew",
        "from other import fast as ModelNew",
        "import ModelNew.inner",
        "from other import *",
        "globals()['Model' + 'New'] = fast",
        "exec(text)",
        "setattr(module, name, fast)",
        "sys.modules[__name__].__dict__.update(made)",
        "def __getattr__(name): return fast",
        "for ModelNew in made: pass",
        "class ModelNew(",
        "x = " + "(" * 5000 + ")" * 5000,
    ],
)
def test_what_may_define_it_or_cannot_be_read_is_not_surely_lacking(source):
    assert not surely_lacks(source, {"ModelNew"})


def test_classes_are_told_and_functions_where_there_is_none():
    assert made("import a\nclass fast: ...\ndef f(): ...\nclass slow: ...") == ["fast", "slow"]
    assert made("def f(): ...\nx = 1") == ["f"]
    assert made("class (") == []
