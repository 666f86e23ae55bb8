//: base = thread-per-row | | The vertices are independent within a round. | A thread for each vertex
//: group = sub-warp-per-row | | Neighbouring threads read whole edge lists apart. | Sixteen lanes for each vertex, and a minimum by shuffles
//: cached = read-only-cache | | Distances are read at random, again and again. | __ldg, past the coherent path
//: hints = streaming-stores | | Edges are read once, and push the distances out of the cache. | __ldcs
//: vec = vectorised-loads | !group | Each edge takes two loads of four bytes. | Four edges a load where the pointers allow it
/* kernelwright
[constants]
VERTICES = "in0.numel"
DEGREE = "in1.shape[1]"

[[launch]]
kernel = "relax"
grid = "ceil_div(VERTICES, ${16 if group else 256})"
block = 256
arguments = ["in0", "in1", "in2", "out0"]
*/
//% if cached
#define NEAR(v) __ldg(distance + (v))
//% else
#define NEAR(v) distance[v]
//% endif
//% if hints
#define ONCE(p) __ldcs(p)
//% else
#define ONCE(p) (*(p))
//% endif

__global__ void relax(const float* distance, const int* neighbour, const float* weight, float* out) {
//% if group
    const int v = blockIdx.x * 16 + threadIdx.x / 16, first = threadIdx.x % 16, step = 16;
//% else
    const int v = blockIdx.x * 256 + threadIdx.x, first = 0, step = 1;
//% endif
    if (v >= VERTICES) return;
    const long long list = v * (long long)DEGREE;
    float least = distance[v];
    int e = first;
//% if vec
    if (((unsigned long long)neighbour | (unsigned long long)weight) % 16 == 0 && DEGREE % 4 == 0) {
        for (; e < DEGREE; e += 4) {
            const int4 n = ONCE((const int4*)(neighbour + list + e));
            const float4 w = ONCE((const float4*)(weight + list + e));
            least = fminf(fminf(least, fminf(NEAR(n.x) + w.x, NEAR(n.y) + w.y)), fminf(NEAR(n.z) + w.z, NEAR(n.w) + w.w));
        }
    }
//% endif
    for (; e < DEGREE; e += step) least = fminf(least, NEAR(ONCE(neighbour + list + e)) + ONCE(weight + list + e));
//% if group
    for (int k = 8; k > 0; k /= 2) least = fminf(least, __shfl_down_sync(0xffffffff, least, k, 16));
    if (first > 0) return;
//% endif
    out[v] = least;
}
