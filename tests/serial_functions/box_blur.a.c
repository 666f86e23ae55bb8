/* kernelwright
[sizes]
h = 500
w = 700
r = 4
[arguments]
src = { shape = ["h", "w"] }
tmp = { shape = ["h", "w"] }
out = { shape = ["h", "w"] }
*/
static int clamp(int v, int hi) { return v < 0 ? 0 : (v > hi ? hi : v); }

void box_blur(const float *src, float *tmp, float *out, int h, int w, int r) {
  float scale = 1.0f / (2 * r + 1);
  for (int y = 0; y < h; y++) {
    float sum = 0;
    for (int k = -r; k <= r; k++) sum += src[y * w + clamp(k, w - 1)];
    for (int x = 0; x < w; x++) {
      tmp[y * w + x] = sum * scale;
      sum += src[y * w + clamp(x + r + 1, w - 1)] - src[y * w + clamp(x - r, w - 1)];
    }
  }
  for (int x = 0; x < w; x++) {
    float sum = 0;
    for (int k = -r; k <= r; k++) sum += tmp[clamp(k, h - 1) * w + x];
    for (int y = 0; y < h; y++) {
      out[y * w + x] = sum * scale;
      sum += tmp[clamp(y + r + 1, h - 1) * w + x] - tmp[clamp(y - r, h - 1) * w + x];
    }
  }
}
