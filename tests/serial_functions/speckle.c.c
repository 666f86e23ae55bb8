/* kernelwright
[sizes]
rows = 150
cols = 170
turns = 2
[arguments]
image = { shape = ["rows", "cols"], values = "positive", inout = true }
work = { shape = ["rows", "cols"] }
lambda_ = { value = 0.5 }
*/
#define CL(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
void speckle(float *image, float *work, int rows, int cols, int turns, float lambda_) {
  const int N = rows * cols;
  for (; turns > 0; turns -= 1) {
    float a = 0, b = 0, *p = image;
    while (p < image + N) {
      a += *p;
      b += *p * *p;
      ++p;
    }
    a /= N;
    b = b / N / (a * a) - 1;
    for (int x = 0; x < N; x++) {
      int i = x / cols, j = x % cols;
      float *o = image + x, s = -4 * *o;
      s += image[CL(i - 1, 0, rows - 1) * cols + j];
      s += image[CL(i + 1, 0, rows - 1) * cols + j];
      s += image[i * cols + CL(j - 1, 0, cols - 1)];
      s += image[i * cols + CL(j + 1, 0, cols - 1)];
      float q = s / *o;
      q = 1 / (1 + (q * q - b) / (1 + b));
      work[x] = CL(q, 0, 1) * s;
    }
    for (int x = N - 1; x + 1; --x) image[x] += work[x] * lambda_ / 4;
  }
}
