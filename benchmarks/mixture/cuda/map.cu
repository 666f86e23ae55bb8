/* kernelwright
[constants]
WRITTEN = "out0.numel"

$more
[[launch]]
kernel = "$called"
grid = "ceil_div(in0.numel, BLOCK * LOOPS)"
block = "BLOCK"
shared = $shared
arguments = [$arguments, "i64(in0.numel$left_out)"]
*/
#define BLOCK $block
#define LOOPS $loops

$helpers
extern "C" __global__ void $name($pointers, float* out, long long count) {
    for (int step = 0; step < LOOPS; ++step) {
        const long long at = (blockIdx.x * (long long)LOOPS + step) * BLOCK + threadIdx.x;
        if (at >= count) return;
        float a = x[at];
        $second
        $extra
        $retaken
        const float value = $value;
        out[at] = $result;
    }
}
