/* kernelwright
[constants]
PARTS = "$loops * multiprocessors"

[[workspace]]
bytes = "4 * PARTS"

$more
[[launch]]
kernel = "$called"
grid = "PARTS"
block = "BLOCK"
shared = $shared
arguments = [$arguments, "i64(in0.numel$left_out)"]

[[launch]]
kernel = "${name}_end"
grid = 1
block = "BLOCK"
arguments = ["work0", "out0", "f32(1.0 / in0.numel)"]
*/
#define BLOCK $block

$combined
$helpers
extern "C" __global__ void $name(const float* x, const float* y, float* parts, long long count) {
    float sum = 0.0f;
    for (long long at = blockIdx.x * (long long)BLOCK + threadIdx.x; at < count; at += (long long)BLOCK * PARTS) {
        float a = x[at] - y[at];
        $extra
        $retaken
        sum += a * a;
    }
    sum = combined(sum, Plus());
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void ${name}_end(const float* parts, float* out, float scale) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < PARTS; i += BLOCK) sum += parts[i];
    const float value = combined(sum, Plus()) * scale;
    if (threadIdx.x == 0) *out = $result;
}
