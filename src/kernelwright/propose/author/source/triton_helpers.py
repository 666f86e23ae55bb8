"""Functions that Triton kernels call: what the language lacks, or has without NaNs."""

import re

HELPERS: dict[str, str] = {
    "_multiply": '''\
@triton.jit
def _multiply(left, right):
    """What a product is reduced by."""
    return left * right
''',
    "_larger": '''\
@triton.jit
def _larger(left, right):
    """The larger one, or a NaN if either is one."""
    return tl.maximum(left, right, propagate_nan=tl.PropagateNan.ALL)
''',
    "_smaller": '''\
@triton.jit
def _smaller(left, right):
    """The smaller one, or a NaN if either is one."""
    return tl.minimum(left, right, propagate_nan=tl.PropagateNan.ALL)
''',
    "_round": '''\
@triton.jit
def _round(x):
    """To the nearest whole number, to even ones from the middle: beyond 2 ** 23 there are no others."""
    shifted = (tl.abs(x) + 8388608.0) - 8388608.0
    return tl.where(tl.abs(x) < 8388608.0, tl.where(x < 0.0, -shifted, shifted), x)
''',
    "_random": '''\
@triton.jit
def _random(seed, place):
    """31 random bits of a place: Philox with two words and seven rounds (Salmon et al. 2011, table 2)."""
    key = seed.to(tl.uint32)
    low = place.to(tl.uint32)
    high = (place.to(tl.int64) >> 32).to(tl.uint32)
    for _ in tl.static_range(7):
        mixed = tl.umulhi(low, tl.full(low.shape, 0xD256D193, tl.uint32)) ^ key ^ high
        high = low * 0xD256D193
        low = mixed
        key += 0x9E3779B9
    return (low >> 1).to(tl.int32)
''',
    "_expm1": '''\
@triton.jit
def _expm1(x):
    """exp(x) - 1, by a polynomial where the subtraction would lose digits."""
    p = 1.39412098e-3
    p = p * x + 8.36323481e-3
    p = p * x + 4.16663736e-2
    p = p * x + 1.66665763e-1
    p = p * x + 0.5
    return tl.where(tl.abs(x) < 0.34, p * x * x + x, tl.exp(x) - 1.0)
''',
    "_log1p": '''\
@triton.jit
def _log1p(x):
    """log(1 + x), with what 1 + x loses put back, times 1 - x in place of a division."""
    total = 1.0 + x
    lost = (x - (total - 1.0)) * (2.0 - total)
    return tl.log(total) + tl.where(total < 2.0, lost, 0.0)
''',
    "_float8_e4m3fn": '''\
# What eight bits cannot hold is NaN in PyTorch before 2.12, and the largest number since then.
_OVERFLOWS = tl.constexpr(bool(torch.tensor(1e4).to(torch.float8_e4m3fn).float().isnan()))


@triton.jit
def _float8_e4m3fn(x):
    """To the nearest number of eight bits; beyond the largest one, devices do not agree."""
    beyond = tl.where(x > 0.0, 448.0, -448.0)
    if _OVERFLOWS:
        beyond = beyond * float("nan")
    return tl.where(tl.abs(x) > 464.0, beyond, x.to(tl.float8e4nv).to(tl.float32))
''',
    "_tf32": '''\
@triton.jit
def _tf32(x):
    """To the nearest number of TF32: tensor cores cut off the other bits. A NaN stays one."""
    rounded = ((x.to(tl.uint32, bitcast=True) + 0x1000) & 0xFFFFE000).to(tl.float32, bitcast=True)
    return tl.where(x == x, rounded, x)
''',
    "_largest_bits": '''\
@triton.jit
def _largest_bits(x):
    """Those of the largest finite |x|: as integers they are in the same order as the numbers."""
    bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    return tl.max(tl.ravel(tl.where(bits < 0x7F800000, bits, 0)), axis=0)
''',
    "_largest": '''\
@triton.jit
def _largest(x_ptr, largest_ptr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """Raise the bits of a number to those of the largest finite |x|."""
    at = tl.cast(tl.program_id(0), tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < COUNT, other=0.0)
    tl.atomic_max(largest_ptr, _largest_bits(x), sem="relaxed")
''',
    "_power": '''\
@triton.jit
def _power(exponent):
    """2 to the power of an integer from -126 to 127."""
    return ((exponent + 127) << 23).to(tl.float32, bitcast=True)
''',
    "_exponent": '''\
@triton.jit
def _exponent(bits, TRIED: tl.constexpr):
    """By which power of two numbers are divided whose largest has these bits: it is between 2**14 and 2**15 then.

    TRIED: none where it is between 1/2 and 2**15 as it is.
    """
    exponent = tl.maximum(bits >> 23, 15)
    if TRIED:
        exponent = tl.where((exponent >= 126) & (exponent < 142), 141, exponent)
    return exponent - 141
''',
    "_brought_back": '''\
@triton.jit
def _brought_back(x, left, right, TRIED_LEFT: tl.constexpr, TRIED_RIGHT: tl.constexpr):
    """x of factors whose largest numbers had these bits: in two steps, neither of which leaves the range before the result."""
    exponent = _exponent(left, TRIED_LEFT) + _exponent(right, TRIED_RIGHT)
    half = exponent >> 1
    return x * _power(half) * _power(exponent - half)
''',
    "_pack_tile": '''\
@triton.jit
def _pack_tile(
    tile, scale, x_ptr, high_ptr, low_ptr, rest_ptr,
    DEEP: tl.constexpr, INNER: tl.constexpr, PAD: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_D: tl.constexpr, BLOCK_I: tl.constexpr,
):
    """Lay a tile of x [outer, DEEP, INNER] out as [outer, INNER, DEEP + PAD]: rounded, or in parts that add up to it."""
    down = tl.cdiv(DEEP + PAD, BLOCK_D)
    across = tl.cdiv(INNER, BLOCK_I)
    outer = tl.cast(tile // (down * across), tl.int64)
    d = tile % down * BLOCK_D + tl.arange(0, BLOCK_D)[:, None]
    i = tl.cast(tile // down % across, tl.int64) * BLOCK_I + tl.arange(0, BLOCK_I)[None, :]
    given = tl.load(x_ptr + (outer * DEEP + d) * INNER + i, mask=(d < DEEP) & (i < INNER), other=0.0)
    at = (outer * INNER + i) * (DEEP + PAD) + d
    exists = (d < DEEP + PAD) & (i < INNER)
    x = given * scale
    high = _tf32(x) if high_ptr.dtype.element_ty == tl.float32 else x.to(high_ptr.dtype.element_ty)
    tl.store(high_ptr + at, high, mask=exists)
    if PARTS > 1:
        x -= high.to(tl.float32)
        low = x.to(high_ptr.dtype.element_ty)
        tl.store(low_ptr + at, low, mask=exists)
        if PARTS > 2:
            tl.store(rest_ptr + at, (x - low.to(tl.float32)).to(tl.bfloat16), mask=exists)
    return given
''',
    "_pack": '''\
@triton.jit
def _pack(
    x_ptr, high_ptr, low_ptr, rest_ptr,
    DEEP: tl.constexpr, INNER: tl.constexpr, PAD: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_D: tl.constexpr, BLOCK_I: tl.constexpr,
):
    """Lay x out as it is, or in parts."""
    _pack_tile(tl.program_id(0), 1, x_ptr, high_ptr, low_ptr, rest_ptr, DEEP, INNER, PAD, PARTS, BLOCK_D, BLOCK_I)
''',
    "_pack_scaled": '''\
@triton.jit
def _pack_scaled(
    x_ptr, high_ptr, low_ptr, rest_ptr, largest_ptr,
    DEEP: tl.constexpr, INNER: tl.constexpr, PAD: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_D: tl.constexpr, BLOCK_I: tl.constexpr,
):
    """Lay x out in float16, times the power of two that suits its largest number."""
    scale = _power(-_exponent(tl.load(largest_ptr), False))
    _pack_tile(tl.program_id(0), scale, x_ptr, high_ptr, low_ptr, rest_ptr, DEEP, INNER, PAD, PARTS, BLOCK_D, BLOCK_I)
''',
    "_pack_tried": '''\
@triton.jit
def _pack_tried(
    x_ptr, high_ptr, low_ptr, rest_ptr, largest_ptr,
    DEEP: tl.constexpr, INNER: tl.constexpr, PAD: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_D: tl.constexpr, BLOCK_I: tl.constexpr,
):
    """Lay x out in float16 as it is, and find its largest number on the way."""
    x = _pack_tile(tl.program_id(0), 1, x_ptr, high_ptr, low_ptr, rest_ptr, DEEP, INNER, PAD, PARTS, BLOCK_D, BLOCK_I)
    tl.atomic_max(largest_ptr, _largest_bits(x), sem="relaxed")
''',
    "_pack_again": '''\
@triton.jit
def _pack_again(
    x_ptr, high_ptr, low_ptr, rest_ptr, largest_ptr,
    TILES: tl.constexpr,
    DEEP: tl.constexpr, INNER: tl.constexpr, PAD: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_D: tl.constexpr, BLOCK_I: tl.constexpr,
):
    """Lay x out anew, times a power of two, if its largest number does not suit float16."""
    exponent = _exponent(tl.load(largest_ptr), True)
    if exponent != 0:
        for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
            _pack_tile(
                tile, _power(-exponent), x_ptr, high_ptr, low_ptr, rest_ptr, DEEP, INNER, PAD, PARTS, BLOCK_D, BLOCK_I
            )
''',
    "_softplus": '''\
@triton.jit
def _softplus(x):
    """log(1 + exp(x)). The exponential is at most 1, where a polynomial gives log(1 + e)."""
    e = tl.exp(-tl.abs(x))
    p = 5.36542246e-3
    p = p * e + -3.00683007e-2
    p = p * e + 7.92088285e-2
    p = p * e + -1.37541875e-1
    p = p * e + 1.91538483e-1
    p = p * e + -2.48572171e-1
    p = p * e + 3.33213300e-1
    p = p * e + -4.99996483e-1
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL) + (p * e * e + e)
''',
    "_normal_cdf": '''\
@triton.jit
def _normal_cdf(x):
    """P(Z < x) of a standard normal Z. P(Z > |x|) is 2 to the power of a polynomial in |x|."""
    t = tl.abs(x)
    p = -2.26708732e-8
    p = p * t + 6.94734922e-7
    p = p * t + -9.14500924e-6
    p = p * t + 6.55031909e-5
    p = p * t + -2.40952038e-4
    p = p * t + -8.18441622e-5
    p = p * t + 7.04787718e-3
    p = p * t + -5.25091738e-2
    p = p * t + -4.59199250e-1
    p = p * t + -1.15110648
    tail = tl.exp2(p * t - 1.0)
    return tl.where(x < 0.0, tail, 1.0 - tail)
''',
    "_tanh": '''\
@triton.jit
def _tanh(x):
    """By a polynomial where 1 - 2 / (1 + exp(2 x)) would lose digits."""
    square = x * x
    p = -5.14046755e-3
    p = p * square + 2.00943369e-2
    p = p * square + -5.35599627e-2
    p = p * square + 1.33291319e-1
    p = p * square + -3.33331913e-1
    beyond = 1.0 - 2.0 / (1.0 + tl.exp2(x * 2.88539008))
    return tl.where(square < 0.49, p * square * x + x, beyond)
''',
    "_whole_key": '''\
@triton.jit
def _whole_key(x, position, DESCENDING: tl.constexpr):
    """A number that holds an integer and its position, and grows towards the first place."""
    bits = x.to(tl.int32)
    if not DESCENDING:
        bits = ~bits
    return (bits.to(tl.int64) << 32) | (2147483647 - position).to(tl.int64)
''',
    "_whole_value": '''\
@triton.jit
def _whole_value(key, DESCENDING: tl.constexpr):
    """The integer in a key."""
    bits = (key >> 32).to(tl.int32)
    if not DESCENDING:
        bits = ~bits
    return bits
''',
    "_order_key": '''\
@triton.jit
def _order_key(x, position, DESCENDING: tl.constexpr):
    """The same of a float, by its bits in the order of floats; a NaN is the largest, and both zeros are one."""
    bits = x.to(tl.float32).to(tl.int32, bitcast=True)
    bits = tl.where(x != x, 0x7FC00000, tl.where(x == 0.0, 0, bits))
    return _whole_key(bits ^ ((bits >> 31) & 0x7FFFFFFF), position, DESCENDING)
''',
    "_order_value": '''\
@triton.jit
def _order_value(key, DESCENDING: tl.constexpr):
    """The float in a key."""
    bits = _whole_value(key, DESCENDING)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
''',
    "_copy": '''\
@triton.jit
def _copy(x_ptr, out_ptr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """Copy the elements of a tensor."""
    at = tl.cast(tl.program_id(0), tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < COUNT), mask=at < COUNT)
''',
    "_map": '''\
def _map(x, shape, block):
    """A tensor as a matrix of which the hardware copies blocks: where it begins at no multiple of 16 bytes, a copy of it."""
    if x.data_ptr() % 16:
        given, x = x, torch.empty_like(x)
        _copy[(triton.cdiv(x.numel(), 4096),)](given, x, COUNT=x.numel(), BLOCK=4096)
    return TensorDescriptor.from_tensor(x.view(shape), block)
''',
    "_multiprocessors": '''\
def _multiprocessors(x):
    """Of the tensor's device; one where it is none of CUDA's."""
    return torch.cuda.get_device_properties(x.device).multi_processor_count if x.device.type == "cuda" else 1
''',
}
"""Functions that Triton's language lacks, and of some launches, in an order in which each is defined before its use."""

CALLS = {
    "_brought_back": ("_exponent", "_power"), "_largest": ("_largest_bits",), "_map": ("_copy",),
    "_order_key": ("_whole_key",),
    "_order_value": ("_whole_value",), "_pack": ("_pack_tile",), "_pack_scaled": ("_pack_tile", "_exponent", "_power"),
    "_pack_tried": ("_pack_tile", "_largest_bits"), "_pack_again": ("_pack_tile", "_exponent", "_power"),
    "_pack_tile": ("_tf32",),
}  # fmt: skip
"""Who calls whom; who is called and calls others stands behind its callers."""


def helpers_in(kernels: str) -> list[str]:
    """The functions that kernels mention, and those that these call."""
    needed = {name for name in HELPERS if re.search(rf"\b{name}\b", kernels)}
    for caller, called in CALLS.items():
        needed |= set(called) if caller in needed else set()
    return [name for name in HELPERS if name in needed]
