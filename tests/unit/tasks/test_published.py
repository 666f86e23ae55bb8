"""Kernels in the forms in which people publish them."""

import ast
import json

import pytest

from kernelwright.errors import UsageError
from kernelwright.tasks.kernelbench import parse_kernelbench
from kernelwright.tasks.published.table import read_published

TASK = "class Model: pass\n\ndef get_inputs():\n    return []\n"
KERNEL = "import torch\n\nclass ModelNew(torch.nn.Module): pass\n"


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
    return folder


def told(path, tasks=None):
    return {one.name: (one.claimed, bool(one.kernel), one.missing) for one in read_published(path, tasks)}


def test_lines_name_texts_or_files_beside_them(tmp_path):
    write(tmp_path, **{"t.py": TASK, "k.cu": "__global__ void k() {}\n"})
    lines = [
        {"name": "files", "task": "t.py", "kernel": "k.cu", "claimed speedup": 2},
        {"name": "texts", "task": TASK, "kernel": KERNEL, "claimed": "3.5x"},
        {"name": "none", "task": TASK},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    assert told(tmp_path / "all.jsonl") == {
        "files": (2.0, True, ""),
        "texts": (3.5, True, ""),
        "none": (None, False, "no kernel was published for this task"),
    }
    files, texts, _ = read_published(tmp_path / "all.jsonl")
    assert (files.suffix, files.reference, texts.suffix) == (".cu", TASK, ".py")
    assert files.origin.endswith("all.jsonl:1")


@pytest.mark.parametrize("whole", [True, False])
def test_the_fields_of_cuda_l1(tmp_path, whole):
    entries = [
        {"level_id": 1, "task_id": 7, "ref_code": TASK, "custom_code": KERNEL, "score": 1.4},
        {"level_id": 1, "task_id": 8, "ref_code": TASK, "custom_code": None, "score": 0},
    ]
    file = tmp_path / "h100.json"
    file.write_text(json.dumps(entries) if whole else "\n".join(map(json.dumps, entries)))
    assert told(file) == {
        "level 1, task 7": (1.4, True, ""),
        "level 1, task 8": (None, False, "no kernel was published for this task"),
    }


def test_an_object_by_name(tmp_path):
    write(tmp_path, **{"all.json": {"gelu": {"task": TASK, "kernel": KERNEL, "speedup": 1.1}}})
    assert told(tmp_path / "all.json") == {"gelu": (1.1, True, "")}


def test_equal_names_are_told_apart(tmp_path):
    write(tmp_path, **{"all.json": [{"name": "x", "task": TASK, "kernel": KERNEL}] * 2})
    assert list(told(tmp_path / "all.json")) == ["x", "x (2)"]


@pytest.mark.parametrize("text", ["no json", "[1, 2]", '{"name": "x"}\n{'])
def test_what_is_no_list_of_kernels_says_so(tmp_path, text):
    (tmp_path / "all.jsonl").write_text(text)
    with pytest.raises(UsageError, match=r"JSON|published kernels|no entry"):
        read_published(tmp_path / "all.jsonl")


def test_two_folders_of_equal_names(tmp_path):
    write(
        tmp_path,
        **{
            "tasks__a.py": TASK,
            "tasks__unused.py": TASK,
            "kernels__a.cpp": "// claimed: 2.5x\nvoid f() {}\n",
            "kernels__b.py": KERNEL,
            "claims.json": {"b": 4},
        },
    )
    assert told(tmp_path) == {"a": (2.5, True, ""), "b": (4.0, True, "there is no task b.py for it")}


def test_files_side_by_side_and_files_that_hold_both(tmp_path):
    both = f"{TASK}\n{KERNEL}"
    write(tmp_path, **{"a.py": TASK, "a.kernel.cu": "__global__ void k() {}", "c.py": both, "notes.txt": "no"})
    assert {one.name: (one.suffix, one.reference) for one in read_published(tmp_path)} == {
        "a": (".cu", TASK),
        "c": (".py", both),
    }


def test_a_run_of_kernelbench(tmp_path):
    run, checkout = tmp_path / "run", tmp_path / "checkout"
    write(
        run,
        **{
            "level_1_problem_19_sample_0_kernel.py": KERNEL,
            "level_1_problem_19_sample_1_kernel.py": KERNEL,
            "level_2_problem_3_sample_0_kernel.py": KERNEL,
            "eval_results.json": {"19": [{"sample_id": 0, "runtime": 2.0, "ref_runtime": 5.0}]},
        },
    )
    write(checkout, **{"KernelBench__level1__19_Own.py": TASK})
    assert told(run, checkout) == {
        "level 1, problem 19": (2.5, True, ""),
        "level 1, problem 19, sample 1": (None, True, ""),
        "level 2, problem 3": (None, True, f"{checkout} has no problem level2/3_*.py"),
    }
    with pytest.raises(UsageError, match="--tasks"):
        read_published(run)


DEFINITION = {
    "name": "scale_rows",
    "axes": {"rows": {"type": "var"}, "width": {"type": "const", "value": 64}},
    "inputs": {
        "x": {"shape": ["rows", "width"], "dtype": "float32"},
        "index": {"shape": ["rows"], "dtype": "int64"},
        "by": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "width"], "dtype": "float32"}},
    "reference": "def run(x, index, by):\n    return {'y': x * by}",
}
SOLUTION = {
    "name": "mine",
    "definition": "scale_rows",
    "author": "me",
    "spec": {"language": "triton", "target_hardware": ["cuda"], "entry_point": "main.py::run"},
    "sources": [{"path": "main.py", "content": "def run(x, index, by, y):\n    y.copy_(x * by)\n"}],
}


def flashinfer(folder, solution):
    trace = {"definition": "scale_rows", "solution": "mine", "evaluation": {"performance": {"speedup_factor": 1.5}}}
    sizes = [{"definition": "scale_rows", "workload": {"axes": {"rows": n}, "inputs": {"by": BY}}} for n in (4, 32)]
    write(
        folder,
        **{
            "definitions__scale.json": DEFINITION,
            "solutions__mine.json": solution,
            "workloads__scale.jsonl": "\n".join(map(json.dumps, sizes)),
            "traces__scale.jsonl": json.dumps({**trace, "workload": sizes[0]["workload"]}),
        },
    )
    return read_published(folder)


BY = {"type": "scalar", "value": 2.0}


def test_flashinfer_bench_gives_a_task_with_its_workloads_and_a_module(tmp_path):
    (one,) = flashinfer(tmp_path, SOLUTION)
    assert (one.name, one.claimed, one.missing) == ("mine", 1.5, "")
    found = parse_kernelbench(one.reference, "scale", tmp_path).workloads
    assert [point.axes for point in found.points] == [{"rows": 4}, {"rows": 32}] and found.main.axes == {"rows": 32}
    assert all(point.values == {"given": {"by": 2.0}} for point in found.points)
    ast.parse(one.kernel)


def test_both_texts_of_flashinfer_bench_compute_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    (one,) = flashinfer(tmp_path, SOLUTION)
    task, kernel = {}, {}
    exec(one.reference, task)
    exec(one.kernel, kernel)
    given = task["get_inputs"](rows=32, width=64, given={"by": 2.0})
    assert given[0].shape == (32, 64) and given[2] == 2.0
    assert torch.equal(task["Model"]()(*given), kernel["ModelNew"]()(*given))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"definition": "another"}, "no definition"),
        ({"spec": {"entry_point": "gone.py::run"}}, "names a file"),
        ({"spec": {"entry_point": "main.cu::run"}, "sources": [{"path": "main.cu", "content": ""}]}, "binding"),
    ],
)
def test_what_of_flashinfer_bench_cannot_be_judged_says_why(tmp_path, change, why):
    (one,) = flashinfer(tmp_path, {**SOLUTION, **change})
    assert why in one.missing


def test_nothing_there_says_so(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        read_published(tmp_path / "gone")
    with pytest.raises(UsageError, match="known form"):
        read_published(tmp_path)


SECRET = "the user's own secret\nof two lines\n"


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "outside").mkdir()
    file = tmp_path / "outside" / "secret.txt"
    file.write_text(SECRET)
    (tmp_path / "release").mkdir()
    return file


@pytest.mark.parametrize("field", ["kernel", "task"])
@pytest.mark.parametrize("way", ["above", "absolute", "link"])
def test_a_list_names_no_file_outside_of_its_folder(tmp_path, secret, field, way):
    release = write(tmp_path / "release", **{"t.py": TASK, "k.py": KERNEL})
    (release / "link.py").symlink_to(secret)
    named = {"above": "../outside/secret.txt", "absolute": str(secret), "link": "link.py"}[way]
    lines = [{"name": "honest", "task": "t.py", "kernel": "k.py"}, {"task": "t.py", "kernel": "k.py", field: named}]
    (release / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    honest, other = read_published(release / "all.jsonl")
    assert honest.kernel == KERNEL
    assert "not in its folder" in other.missing
    assert "secret\nof" not in other.model_dump_json()
    assert SECRET not in (other.kernel, other.reference)


@pytest.mark.parametrize("linked", ["kernels/relu.py", "tasks/relu.py"])
def test_links_in_a_directory_lead_nowhere_else(tmp_path, secret, linked):
    names = [f"{d}__{n}.py" for d in ("tasks", "kernels") for n in ("relu", "gelu")]
    release = write(tmp_path / "release", **dict.fromkeys(names, TASK))
    (release / linked).unlink()
    (release / linked).symlink_to(secret)
    found = {one.name: one for one in read_published(release, None)}
    assert "not in its folder" in found["relu"].missing
    assert not found["gelu"].missing
    assert "own secret" not in found["relu"].model_dump_json()


def test_links_of_a_run_lead_nowhere_else(tmp_path, secret):
    names = {f"level_1_problem_{n}_sample_0_kernel.py": KERNEL for n in (1, 2)}
    release = write(tmp_path / "release", **names)
    tasks = write(tmp_path / "bench", **{"level1__1_a.py": TASK, "level1__2_b.py": TASK})
    (release / "level_1_problem_1_sample_0_kernel.py").unlink()
    (release / "level_1_problem_1_sample_0_kernel.py").symlink_to(secret)
    (tasks / "level1" / "2_b.py").unlink()
    (tasks / "level1" / "2_b.py").symlink_to(secret)
    found = read_published(release, tasks)
    assert ["not in its folder" in one.missing for one in found] == [True, True]
    assert not any("own secret" in one.model_dump_json() for one in found)


def test_a_link_within_the_folder_is_followed(tmp_path):
    release = write(tmp_path, **{"tasks__a.py": TASK, "kernels__a.py": KERNEL})
    (release / "kernels" / "b.py").symlink_to(release / "kernels" / "a.py")
    (release / "tasks" / "b.py").symlink_to("a.py")
    assert [one.missing for one in read_published(release, None)] == ["", ""]


@pytest.mark.parametrize("claim", [1e308, "1e300x", 10**300])
def test_an_absurd_claim_is_bounded(tmp_path, claim):
    (tmp_path / "all.json").write_text(json.dumps([{"task": TASK, "kernel": KERNEL, "claimed": claim}]))
    assert read_published(tmp_path / "all.json")[0].claimed == 1e6


def test_an_absurd_time_of_a_run_is_bounded(tmp_path):
    write(
        tmp_path,
        **{
            "level_1_problem_1_sample_0_kernel.py": KERNEL,
            "eval_results.json": {"1": {"runtime": 1e-300, "ref_runtime": 1e300}},
            "bench__level1__1_a.py": TASK,
        },
    )
    found = read_published(tmp_path, tmp_path / "bench")
    assert found[0].claimed in (None, 1e6)
