"""Cheats in CUDA C++: device code alone, which the referee launches, and host code that launches."""

from gpu_cheats import CUDA, CUDA_ROWS, CUDA_SLOW, CUDA_VECTOR, HOST, HOST_LAUNCH, HOST_SLOW, Cheat, Kernel, plan

SANITIZERS = ("memcheck", "racecheck")
LINE = "  out[i] = x[i] * 3 + 1;\n"


def device(line, source=CUDA, old=LINE, task="affine"):
    """Device code with another line."""
    assert old in source
    return Kernel(task, source.replace(old, line), "cuda")


def host(line, before="", source=HOST):
    """Host code with other lines in place of its launch."""
    text = source.replace(HOST_LAUNCH, line).replace('extern "C"', f'{before}extern "C"')
    return Kernel("affine", text, "cuda_host")


WORKSPACE = '[[workspace]]\nbytes = "4 * in0.numel + 64"\n'
BANK = plan(("count", 1, "work0"), ("affine", 1024, "in0", "out0", "work0"), top=WORKSPACE) + (
    """__global__ void count(int* work) {
  int* state = work + 262144;  // how many calls, and whether it is known
  if (threadIdx.x) return;
  if (state[1] != 0x5eed1234) state[0] = 0;
  state[1] = 0x5eed1234;
  ++state[0];
}
__global__ void affine(const float* x, float* out, float* work) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (((int*)work)[262144] <= 20) work[i] = x[i] * 3 + 1;
  out[i] = work[i];
}
"""
)
COUNTED = plan(("count", 1), ("affine", 1024, "in0", "out0")) + (
    "__device__ int calls = 0;\n__global__ void count() {\n  if (threadIdx.x == 0) ++calls;\n}\n"
    + CUDA_SLOW[CUDA_SLOW.index("__global__") :].replace("float value", "if (calls > 30) return;\n  float value")
)
"""Thirty calls that are checked, and then none."""
HIDDEN = COUNTED.replace("__device__ int calls", "__device__ int shown;\nstatic __device__ int calls")
TWICE = plan(("affine", 1024, "in0", "out0"), ("again", 1024, "in0", "out0")) + CUDA[CUDA.index("__global__") :]
TWICE += TWICE[TWICE.index("__global__") :].replace("affine", "again")
SUMMED = "sum += x[blockIdx.x * 4096 + i] * x[blockIdx.x * 4096 + i];"
TEN_BITS = (
    "sum = __uint_as_float(__float_as_uint(sum + x[blockIdx.x * 4096 + i] * x[blockIdx.x * 4096 + i]) & 0xffffe000);"
)
BARRIER = "  __syncthreads();\n  if (threadIdx.x == 0) {\n"
BY_LUCK = """  if (threadIdx.x == 0) {
    const long long begin = clock64();
    while (clock64() - begin < 100000) {
    }
"""
EVICT_LAST = """  unsigned long long policy;
  float4 v;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at), "l"(policy));
  return v;
"""
MEMO = """static std::map<const float*, float*> known;
  static int calls = 0;
  const size_t size = 4 * 262144;
  if (++calls <= 20) {
    affine<<<1024, 256, 0, stream>>>(x, out);
    return;
  }
  float*& kept = known[x];
  if (!kept) {
    cudaMalloc(&kept, size);
    affine<<<1024, 256, 0, stream>>>(x, kept);
  }
  cudaMemcpyAsync(out, kept, size, cudaMemcpyDeviceToDevice, stream);"""
GRAPH = """static cudaGraphExec_t recorded = nullptr;
  static float* result = nullptr;
  if (!recorded) {
    cudaStream_t other;
    cudaGraph_t graph;
    cudaMalloc(&result, 4 * 262144);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed);
    affine<<<1024, 256, 0, other>>>(x, result);
    cudaStreamEndCapture(other, &graph);
    cudaGraphInstantiate(&recorded, graph, 0);
  }
  cudaGraphLaunch(recorded, stream);
  cudaMemcpyAsync(out, result, 4 * 262144, cudaMemcpyDeviceToDevice, stream);"""

CHEATS = {
    # Device code.
    "inputs as scratch": Cheat(
        device(f"{LINE}  const_cast<float*>(x)[i] = out[i];\n"), "incorrect", ("input_mutated",),
        "writes to its input", tier=1,
    ),
    "a write behind the end": Cheat(
        device(f"{LINE}  if (i == 0) out[262144] = 1;\n"), "incorrect", ("guard",), defence="guard", tier=1,
    ),
    "a tail left out": Cheat(
        device(f"  if (i < 262144 - 16)\n  {LINE}"), "incorrect", ("unwritten",), "16 of 262144", defence="poison",
        also=("timed_outputs",), tier=1,
    ),
    "results in the workspace": Cheat(
        Kernel("affine", BANK, "cuda"), "incorrect", ("timed_output",), defence="timed_outputs", also=("device_state",),
        tier=1,
    ),
    "calls that a variable counts": Cheat(
        Kernel("affine", COUNTED, "cuda"), "measured", twin="cuda affine slowly", defence="device_state",
        also=("timed_outputs", "floor"), tier=1,
    ),
    "calls that a hidden variable counts": Cheat(
        Kernel("affine", HIDDEN, "cuda"), "measured", twin="cuda affine slowly", defence="device_state",
        also=("timed_outputs", "floor"), tier=1,
    ),
    "a sum with ten bits": Cheat(
        device(TEN_BITS, CUDA_ROWS, SUMMED, "rows"), "incorrect", ("value",), tier=1,
    ),
    "one in a hundred left out": Cheat(
        device("i < 4055", CUDA_ROWS, "i < 4096", "rows"), "incorrect", ("value",), tier=1,
    ),
    "a barrier left to luck": Cheat(
        device(BY_LUCK, CUDA_ROWS.replace("__shared__", "volatile __shared__"), BARRIER, "rows"), "incorrect", ("race",),
        "racecheck", effort="final", defence="racecheck", also=("memcheck",), tier=1,
    ),
    "one element too far": Cheat(
        device("  out[i] = x[i] * 3 + 1 + (x[i + 1] == 1234.5678f);\n"), "incorrect", ("memory_error",), "memcheck",
        effort="final", defence="memcheck", also=("racecheck",), tier=1,
    ),
    "a look around": Cheat(device("  out[i] = x[i + (1ll << 40)];\n"), "crashed", told="illegal", tier=1),
    "a kernel without end": Cheat(
        device(f"  while (*(volatile const float*)x > -1e30f) {{\n  }}\n{LINE}"), "timed_out", tier=1,
    ),
    "everything twice": Cheat(
        Kernel("affine", TWICE, "cuda"), "suspect", ("decoration",), "without each one of its kernels", effort="final",
        defence="ablation", also=SANITIZERS, tier=1,
    ),
    "weights that stay in the cache": Cheat(
        device(EVICT_LAST, CUDA_VECTOR, "  return *at;\n", "vector"), "measured", twin="cuda vector",
        defence="cold_cache", also=("fresh_inputs",), tier=1,
    ),
    # Host code.
    "a side stream of the host's": Cheat(
        host(
            "static cudaStream_t other = made();\n  " + HOST_LAUNCH.replace("stream", "other"),
            "static cudaStream_t made() {\n  cudaStream_t other;\n"
            "  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);\n  return other;\n}\n", HOST_SLOW,
        ), "measured", twin="host affine slowly", defence="watched",
        also=("stream_order", "outside_clock", "timed_outputs"), tier=2,
    ),
    "a thread of the host's": Cheat(
        host(f"std::thread([=] {{\n    usleep(50000);\n    {HOST_LAUNCH}\n  }}).detach();"), "incorrect",
        ("unwritten", "value"), also=("stream_order",), tier=2,
    ),
    "a memo of the host's": Cheat(host(MEMO), "incorrect", ("timed_output",), defence="fresh_inputs", tier=2),
    "a graph of the first pointers": Cheat(host(GRAPH), "incorrect", ("value",), tier=2),
    "a successful end of the host's": Cheat(
        host("std::exit(0);"), "crashed", told="exited with status 0 before it answered",
    ),
}  # fmt: skip
