/* kernelwright
[sizes]
n = 3000
[arguments]
rgb = { shape = ["n"], values = "index", bound = 256 }
a = { shape = [256] }
b = { shape = [256] }
*/
#include <cstring>
void sets(const int* rgb, int* a, int* b, int n) {
  int* both[] = {a, b};
  for (int* one : both) std::memset(one, 0, 256 * sizeof(int));
  for (int i = 0; i < n; ++i) {
    a[rgb[i]]++;
    b[255 - rgb[i]]++;
  }
}
