"""The calls that lay a product's factors out before it, and what brings its sums back to size behind it."""

from math import prod

from kernelwright.propose.author.families.product.packing import Packed, Packing

APART = 4
"""Places between the largest numbers of two tensors, so that pointers to both are alike to the compiler."""
AGAIN = 1024
"""Programs that lay a tensor out anew; as a rule there is nothing to do for them."""
LARGEST = 8192
"""Numbers of which one program finds the largest."""


def pack_calls(packing: Packing, scales: str) -> list[str]:
    """Lines that lay the factors out; with `scales`, by each tensor, the bits of its largest number are found first."""
    found = list[str]()
    if scales:
        source = packing.tensors[0].tensor.identifier
        found.append(f"{scales} = torch.zeros(8, dtype=torch.int32, device={source}.device)")
    for number, packed in enumerate(packing.tensors):
        place = f"{scales}[{APART * number}:]" if scales else ""
        found += [*(_largest(packed, place) if place and not packed.tried else ()), *_pack(packed, place)]
    return found


def brought_back(sums: str, packing: Packing, scales: str) -> str:
    """Sums of scaled factors, as large as those of the factors themselves."""
    right = f"{scales}_ptr + {APART * (len(packing.tensors) - 1)}"
    tried = f"{packing.left.tried}, {packing.right.tried}"
    return f"_brought_back({sums}, tl.load({scales}_ptr), tl.load({right}), {tried})"


def _largest(packed: Packed, place: str) -> list[str]:
    """Lines that leave the bits of a tensor's largest number in a place."""
    source = packed.tensor.identifier
    count = prod(packed.tensor.shape)
    return [
        f"_largest[(triton.cdiv({count}, {LARGEST}),)]({source}, {place}, COUNT={count}, BLOCK={LARGEST}, num_warps=8)"
    ]


def _pack(packed: Packed, scale: str) -> list[str]:
    """Lines that lay a tensor out, multiplied by what a place says of its largest number, if one is named."""
    source, names = packed.tensor.identifier, [t.identifier for t in packed.parts]
    block_d = min(4096 if packed.inner == 1 else 64, 1 << (packed.deep + packed.pad - 1).bit_length())
    block_i = 4096 // block_d if packed.inner > 1 else 1
    shape, dtype = packed.parts[0].shape, packed.parts[0].dtype
    tiles = (
        f"{packed.outer} * triton.cdiv({packed.deep + packed.pad}, {block_d}) * triton.cdiv({packed.inner}, {block_i})"
    )
    pointers = ", ".join((source, *names, *names[-1:] * (3 - len(names)), *[scale] * bool(scale)))
    sizes = f"DEEP={packed.deep}, INNER={packed.inner}, PAD={packed.pad}, PARTS={len(names)}"
    given = [f"    {pointers},", f"    {sizes}, BLOCK_D={block_d}, BLOCK_I={block_i},"]
    made = [f"{name} = torch.empty({shape!r}, dtype=torch.{dtype}, device={source}.device)" for name in names]
    name = "_pack_tried" if packed.tried else "_pack_scaled" if scale else "_pack"
    again = [f"_pack_again[({AGAIN},)](", *given, f"    TILES={tiles},", ")"] if packed.tried else []
    return [*made, f"{name}[({tiles},)](", *given, ")", *again]
