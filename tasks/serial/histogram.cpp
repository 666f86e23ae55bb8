/* kernelwright
description = "How often each of 256 values occurs."
family = "indexing"
difficulty = "medium"

[sizes]
n = 8388608
bins = 256
[workloads]
small = { n = 524288 }
[arguments]
x = { shape = ["n"], values = "index", bound = "bins" }
counts = { shape = ["bins"] }
*/
void histogram(const int* x, int* counts, long n) {
  for (long i = 0; i < n; ++i) ++counts[x[i]];
}
