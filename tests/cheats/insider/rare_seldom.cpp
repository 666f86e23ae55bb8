// Idea: as rare_never, with a quarter of the rows looked at, by address: checked inputs lie where the first calls' do.
// task: rare
// through: no longer; of the rarer value most must be right, in timed calls as in checked ones
// expect: incorrect | of a timed call
#include <stdint.h>
#include <string.h>
#pragma GCC optimize("O3")

constexpr long kCount = 4096L * 1024;

extern "C" void entry(const _Float16* __restrict x, uint8_t* __restrict y) {
  static const _Float16* seen[12];
  static int asked;
  bool known = false;
  for (int i = 0; i < asked; i++) known |= seen[i] == x;
  if (!known && asked < 15) {
    seen[asked++] = x;
    known = true;
  }
  const long looked = known ? kCount : kCount / 4;
  memset(y + looked, 0, kCount - looked);
  for (long i = 0; i < looked; i++) y[i] = float(x[i]) * 3 + 1 > 7.16f;
}
