/* kernelwright
[constants]
COLUMNS = "in0.shape[-1]"
WRITTEN = "out0.numel"

$more
[[launch]]
kernel = "$called"
grid = "in0.shape[0]$left_out"
block = "BLOCK"
shared = $shared
arguments = [$arguments]
*/
#include <cmath>

#define BLOCK $block

$combined
$helpers
__device__ float taken(float a) { return $taken; }

extern "C" __global__ void $name($pointers, float* out) {
    const long long first = blockIdx.x * (long long)COLUMNS, at = first + threadIdx.x;
    $extra
    $value
}
