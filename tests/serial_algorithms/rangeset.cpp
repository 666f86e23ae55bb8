/* kernelwright
[sizes]
n = 2048
[arguments]
y = { shape = ["n"], inout = true }
*/
#include <vector>
void rangeset(std::vector<float>& y) {
  for (auto& v : y) v = v > 0 ? v : 0;
}
