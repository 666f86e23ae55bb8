/* kernelwright
[sizes]
in_rows = 300
in_cols = 400
rows = 720
cols = 1000
[arguments]
from = { shape = ["in_rows", "in_cols", 3], values = "uniform" }
to = { shape = ["rows", "cols", 3] }
*/
void scale_up(const float *from, float *to, int in_rows, int in_cols, int rows, int cols) {
  int left[cols], right[cols];
  float part[cols];
  int j = cols;
  while (j-- > 0) {
    float at = (j + 0.5f) * ((float)in_cols / cols) - 0.5f;
    if (at < 0.0f) at = 0.0f;
    left[j] = (int)at;
    part[j] = at - left[j];
    right[j] = left[j] + 1 < in_cols ? left[j] + 1 : left[j];
  }
  float *put = to;
  for (int i = 0; i != rows; i++) {
    float at = (i + 0.5f) * ((float)in_rows / rows) - 0.5f;
    if (at < 0.0f) at = 0.0f;
    int upper = (int)at;
    int lower = upper + 1 < in_rows ? upper + 1 : upper;
    float v = at - upper;
    const float *r0 = from + upper * in_cols * 3;
    const float *r1 = from + lower * in_cols * 3;
    for (j = 0; j != cols; j++) {
      const float *p = r0 + left[j] * 3, *q = r0 + right[j] * 3;
      const float *s = r1 + left[j] * 3, *t = r1 + right[j] * 3;
      float u = part[j];
      int channel = 3;
      do {
        *put++ = (1 - v) * ((1 - u) * *p++ + u * *q++) + v * ((1 - u) * *s++ + u * *t++);
      } while (--channel);
    }
  }
}
