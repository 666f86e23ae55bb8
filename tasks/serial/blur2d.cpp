/* kernelwright
description = "A box blur: every pixel becomes the mean of the nine by nine pixels below and right of it."
family = "convolution"
difficulty = "hard"

[sizes]
rows = 1024
columns = 2048
[workloads]
small = { rows = 256, columns = 256 }
[arguments]
x = { shape = ["rows + 8", "columns + 8"] }
out = { shape = ["rows", "columns"] }
*/
void blur2d(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) {
      float sum = 0.0f;
      for (long a = 0; a < 9; ++a)
        for (long b = 0; b < 9; ++b) sum += x[(i + a) * (columns + 8) + j + b];
      out[i * columns + j] = sum / 81.0f;
    }
}
