/* kernelwright
[[launch]]
kernel = "$name"
grid = "ceil_div(in0.numel, BLOCK * 4)"
block = "BLOCK"
arguments = [$arguments, "i64(in0.numel)"]
*/
#define BLOCK $block

__device__ __forceinline__ float computed(float a, float b) { return $value; }

extern "C" __global__ void $name($pointers, float* out, long long count) {
    const long long first = (blockIdx.x * (long long)BLOCK + threadIdx.x) * 4;
    const bool aligned = (($addresses | (size_t)out) & 15) == 0;
    if (aligned && first + 3 < count) {
        const float4 a = *(const float4*)(x + first);
        const float4 b = $four;
        *(float4*)(out + first) =
            make_float4(computed(a.x, b.x), computed(a.y, b.y), computed(a.z, b.z), computed(a.w, b.w));
    } else {
        for (long long at = first; at < count && at < first + 4; ++at) out[at] = computed(x[at], $one);
    }
}
