/* kernelwright
[sizes]
pixels = 60000
[arguments]
rgb = { shape = ["pixels", 3], values = "index", bound = 256 }
red = { shape = [256] }
green = { shape = [256] }
blue = { shape = [256] }
bright = { shape = [1] }
*/
#include <cstring>
enum Channel { R, G, B };
struct Pixel {
  const int *at;
  int operator[](Channel c) const { return at[c]; }
  int sum() const { return at[R] + at[G] + at[B]; }
};
void colours(const int *rgb, int pixels, int *red, int *green, int *blue, long *bright) {
  int *bins[] = {red, green, blue};
  for (auto *bin : bins) std::memset(bin, 0, 256 * sizeof(int));
  long over = 0;
  for (int i = 0; i < pixels; ++i) {
    Pixel pixel{rgb + 3 * i};
    red[pixel[R]] += 1;
    green[pixel[G]] += 1;
    blue[pixel[B]] += 1;
    over += pixel.sum() > 600 ? 1 : 0;
  }
  *bright = over;
}
