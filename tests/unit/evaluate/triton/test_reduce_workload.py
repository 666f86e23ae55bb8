"""Reduced workloads: small, accepted by the reference, and described."""

import pytest
import torch

from kernelwright.evaluate.triton.reduce import ELEMENTS, cut, reduce_workload
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec
from lanes import sampled

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def spec(name, *shape, **fields):
    return TensorSpec(name=name, shape=shape, **{"dtype": "float32", **fields})


def function(body, inputs="a, b"):
    return HEAD + f"class Model(nn.Module):\n    def forward(self, {inputs}):\n        return {body}\n"


def module(layer, constants=""):
    return HEAD + (
        f"{constants}\nclass Model(nn.Module):\n    def __init__(self, *sizes):\n        super().__init__()\n"
        f"        self.layer = {layer}\n    def forward(self, a):\n        return self.layer(a)\n"
    )


def reduce(source, inputs, parameters=(), outputs=(), aligned=False):
    full = Workload(inputs=tuple(inputs), parameters=tuple(parameters), outputs=tuple(outputs))
    return reduce_workload(source, full, aligned)


def shapes(specs):
    return [s.shape for s in specs]


def test_rows_shrink_to_a_prime_and_columns_stay():
    got = reduce(function("F.mse_loss(a, b)"), [spec("a", 4096, 4096), spec("b", 4096, 4096)], outputs=[spec("o")])
    assert shapes(got.workload.inputs) == [(61, 4096), (61, 4096)]
    assert got.description == "61x4096 of 4096x4096"


def test_short_rows_count_for_more_than_their_elements():
    """A kernel gives each a program."""
    got = reduce(function("a.relu()", "a"), [spec("a", 100_000, 64)], outputs=[spec("o", 100_000, 64)])
    assert shapes(got.workload.inputs) == [(1021, 64)]
    flat = reduce(function("a.relu()", "a"), [spec("a", 6_400_000)], outputs=[spec("o", 6_400_000)])
    assert flat.workload.inputs[0].shape[0] > 200_000


def test_of_an_image_the_batch_alone_shrinks_where_that_is_nearly_enough():
    """Many kernels are for any batch, and for images of one size."""
    image = spec("a", 8, 64, 56, 56)
    got = reduce(function("a.relu()", "a"), [image], outputs=[image.model_copy(update={"name": "o"})])
    assert shapes(got.workload.inputs) == [(3, 64, 56, 56)]


def test_aligned_sizes_are_powers_of_two():
    inputs = [spec("a", 4096, 4096), spec("b", 4096, 4096)]
    got = reduce(function("a + b"), inputs, outputs=[spec("o", 4096, 4096)], aligned=True)
    assert shapes(got.workload.outputs) == [(32, 4096)]


def test_a_product_shrinks_every_side():
    got = reduce(function("a @ b"), [spec("a", 4096, 4096), spec("b", 4096, 4096)], outputs=[spec("o", 4096, 4096)])
    (a, b), (out,) = shapes(got.workload.inputs), shapes(got.workload.outputs)
    assert a == b == out
    assert 200 < a[0] < 512


@pytest.mark.parametrize(
    "model", ["def Model(a, b):\n    return a + b\n", "Model = nn.Bilinear(4, 4, 1)\nModel.forward = torch.add\n"]
)
def test_a_function_and_a_module_that_is_there_shrink_as_a_class_does(model):
    parameters = [spec("weight", 1, 4, 4), spec("bias", 1)] if "nn." in model else ()
    inputs = [spec("a", 4096, 4096), spec("b", 4096, 4096)]
    got = reduce(HEAD + model, inputs, parameters, outputs=[spec("o", 4096, 4096)])
    as_class = reduce(function("a + b"), inputs, outputs=[spec("o", 4096, 4096)])
    assert shapes(got.workload.inputs) == shapes(as_class.workload.inputs) != shapes(inputs)


def test_a_broadcast_vector_keeps_its_size():
    got = reduce(function("a + b"), [spec("a", 4096, 4096), spec("b", 4096)], outputs=[spec("o", 4096, 4096)])
    assert shapes(got.workload.inputs) == [(61, 4096), (4096,)]


def test_parameters_fix_the_columns():
    weights = [spec("layer.weight", 4096), spec("layer.bias", 4096)]
    got = reduce(module("nn.LayerNorm(4096)"), [spec("a", 4096, 4096)], weights, [spec("o", 4096, 4096)])
    assert shapes(got.workload.inputs) == [(61, 4096)]
    assert shapes(got.workload.parameters) == [(4096,), (4096,)]


def test_an_index_bound_stays():
    labels = spec("b", 32768, dtype="int64", domain=Domain.INDEX, bound=4096)
    got = reduce(function("F.cross_entropy(a, b)"), [spec("a", 32768, 4096), labels], outputs=[spec("o")])
    (rows, classes), (count,) = shapes(got.workload.inputs)
    assert (rows, classes) == (count, 4096)
    assert got.workload.inputs[1].bound == 4096


def test_images_shrink_in_height_and_width():
    weights = [spec("layer.weight", 64, 64, 3, 3), spec("layer.bias", 64)]
    got = reduce(module("nn.Conv2d(64, 64, 3)"), [spec("a", 16, 64, 256, 256)], weights, [spec("o", 16, 64, 254, 254)])
    assert shapes(got.workload.inputs) == [(3, 64, 37, 37)]
    assert shapes(got.workload.outputs) == [(3, 64, 35, 35)]


def test_one_row_shrinks_in_its_length():
    got = reduce(function("a.sum()", "a"), [spec("a", 1, 1 << 26)], outputs=[spec("o")])
    ((one, length),) = shapes(got.workload.inputs)
    assert one == 1
    assert ELEMENTS // 2 < length < ELEMENTS


def test_large_weights_shrink_through_the_task_s_constants():
    source = module(
        "nn.Linear(*sizes)", "batch = 1024\nN = 8192\nM = 8192\ndef get_init_inputs():\n    return [N, M]\n"
        "def get_inputs():\n    return [torch.rand(batch, N)]\n",
    )  # fmt: skip
    weights = [spec("layer.weight", 8192, 8192), spec("layer.bias", 8192)]
    got = reduce(source, [spec("a", 1024, 8192)], weights, [spec("o", 1024, 8192)])
    assert got.source != source
    ((rows, inner),), (weight, bias) = shapes(got.workload.inputs), shapes(got.workload.parameters)
    assert weight == (*bias, inner)
    assert min(rows, inner, *bias) > 100
    assert got.description == f"{rows}x{inner} of 1024x8192"


def test_small_workloads_and_scalars_stay_as_they_are():
    inputs = [spec("a", 64, 64), Scalar(name="b", value=2.5)]
    got = reduce(function("a * b"), inputs, outputs=[spec("o", 64, 64)])
    assert got.workload.inputs == tuple(inputs)
    assert got.description == "64x64, in full"


def test_probabilities_keep_their_rows():
    inputs = [spec("a", 1, 1 << 21, domain=Domain.PROBABILITY), spec("b", 1, 1 << 21)]
    got = reduce(function("(a * b).sum()"), inputs, outputs=[spec("o")])
    assert shapes(got.workload.inputs) == [(1, 1 << 21)] * 2


def test_a_reference_that_needs_values_stays_as_large_as_it_is(capfd):
    got = reduce(function("a[b > 0]"), [spec("a", 4000, 500), spec("b", 4000, 500)])
    assert shapes(got.workload.inputs) == [(4000, 500)] * 2
    assert capfd.readouterr().err == ""


CONVERTED = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.cell = torch.nn.LayerNorm(64), torch.nn.GRU(64, 64)
        self.register_buffer("table", torch.ones(64))
        {}

    def forward(self, x):
        return self.cell(self.norm(x))[0] * self.table
"""


@pytest.mark.parametrize(
    "line",
    sampled(
        ["self.to(torch.bfloat16)", "self.half().bfloat16()", "self.type(torch.bfloat16)"], lambda line: "type" in line
    ),
)
def test_a_module_that_is_converted_where_it_is_made_has_no_values_either(line):
    names = [
        "table",
        "norm.weight",
        "norm.bias",
        *(f"cell.{w}_{h}_l0" for w in ("weight", "bias") for h in ("ih", "hh")),
    ]
    held = [
        spec(n, *((192, 64) if "weight_" in n else (192,) if "cell" in n else (64,)), dtype="bfloat16") for n in names
    ]
    given = [spec("x", 4000, 64, 64, dtype="bfloat16")]
    got = reduce(CONVERTED.format(line), given, outputs=[spec("o", 4000, 64, 64, dtype="bfloat16")], parameters=held)
    assert got.workload.inputs[0].shape[0] < 100
    assert torch.nn.Linear(2, 2).half().weight.dtype == torch.float16


def test_a_cut_is_dense_and_its_own():
    tensor = torch.arange(20.0).view(4, 5)
    corner = cut(tensor, spec("a", 2, 3))
    assert torch.equal(corner, tensor[:2, :3])
    assert corner.is_contiguous()
    assert corner.untyped_storage().nbytes() == 6 * 4
