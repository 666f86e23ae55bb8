/* kernelwright
description = "The positive elements in their order, then zeros."
family = "indexing"
difficulty = "hard"

[sizes]
n = 4194304
[workloads]
small = { n = 262144 }
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
void compact(const float* x, float* out, long n) {
  long kept = 0;
  for (long i = 0; i < n; ++i)
    if (x[i] > 0.0f) out[kept++] = x[i];
}
