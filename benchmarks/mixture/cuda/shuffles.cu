template <typename Operation>
__device__ float combined(float value, Operation operation) {
    __shared__ float warps[BLOCK / 32];
    for (int lane = 16; lane > 0; lane /= 2) value = operation(value, __shfl_xor_sync(0xffffffffu, value, lane));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
    for (int warp = 1; warp < BLOCK / 32; ++warp) value = operation(value, warps[warp]);
    __syncthreads();
    return value;
}
