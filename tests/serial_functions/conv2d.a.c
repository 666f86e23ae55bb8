/* kernelwright
[sizes]
h = 480
w = 640
r = 2
[arguments]
img = { shape = ["h", "w"] }
ker = { shape = ["2 * r + 1", "2 * r + 1"] }
out = { shape = ["h", "w"] }
*/
void conv2d(const float *img, const float *ker, float *out, int h, int w, int r) {
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) {
      float sum = 0.0f;
      for (int dy = -r; dy <= r; dy++) {
        for (int dx = -r; dx <= r; dx++) {
          int yy = y + dy, xx = x + dx;
          if (yy < 0) yy = 0;
          if (yy >= h) yy = h - 1;
          if (xx < 0) xx = 0;
          if (xx >= w) xx = w - 1;
          sum += img[yy * w + xx] * ker[(dy + r) * (2 * r + 1) + dx + r];
        }
      }
      out[y * w + x] = sum;
    }
  }
}
