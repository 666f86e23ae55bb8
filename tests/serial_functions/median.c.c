/* kernelwright
[sizes]
rows = 512
cols = 512
[arguments]
src = { shape = ["rows", "cols"], values = "index", bound = 256 }
dst = { shape = ["rows", "cols"] }
*/
typedef unsigned char pixel;
#define SORT(a, b) \
  if ((a) > (b)) { \
    pixel t_ = (a); \
    (a) = (b); \
    (b) = t_; \
  }
static pixel middle(pixel a, pixel b, pixel c, pixel d, pixel e, pixel f, pixel g, pixel h, pixel i) {
  SORT(b, c) SORT(e, f) SORT(h, i)
  SORT(a, b) SORT(d, e) SORT(g, h)
  SORT(b, c) SORT(e, f) SORT(h, i)
  SORT(a, d) SORT(f, i) SORT(e, h)
  SORT(d, g) SORT(b, e) SORT(c, f)
  SORT(e, h) SORT(e, c) SORT(g, e)
  SORT(e, c)
  return e;
}
void median_filter(const pixel *src, pixel *dst, int rows, int cols) {
  for (int y = 1; y + 1 < rows; y++)
    for (int x = 1; x + 1 < cols; x++) {
      const pixel *p = &src[y * cols + x];
      dst[y * cols + x] = middle(p[-cols - 1], p[-cols], p[-cols + 1], p[-1], p[0], p[1],
                                 p[cols - 1], p[cols], p[cols + 1]);
    }
  for (int x = 0; x < cols; x++) {
    dst[x] = src[x];
    dst[(rows - 1) * cols + x] = src[(rows - 1) * cols + x];
  }
  for (int y = 0; y < rows; y++) {
    dst[y * cols] = src[y * cols];
    dst[y * cols + cols - 1] = src[y * cols + cols - 1];
  }
}
