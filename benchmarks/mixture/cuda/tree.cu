template <typename Operation>
__device__ float combined(float value, Operation operation) {
    __shared__ float shared[BLOCK];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = operation(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    const float found = shared[0];
    __syncthreads();
    return found;
}
