/* kernelwright
description = "A sparse matrix in ELLPACK form, 32 entries a row, times a vector."
family = "sparse"
difficulty = "medium"

[sizes]
rows = 262144
width = 32
columns = 262144
[workloads]
small = { rows = 16384, columns = 16384 }
[arguments]
values = { shape = ["rows", "width"] }
indices = { shape = ["rows", "width"], values = "index", bound = "columns" }
x = { shape = ["columns"] }
out = { shape = ["rows"] }
*/
void spmv_ell(const float* values, const int* indices, const float* x, float* out, long rows, long width) {
  for (long i = 0; i < rows; ++i) {
    float sum = 0.0f;
    for (long j = 0; j < width; ++j) sum += values[i * width + j] * x[indices[i * width + j]];
    out[i] = sum;
  }
}
