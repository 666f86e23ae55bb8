/* kernelwright
[sizes]
n = 20000
[arguments]
key = { shape = ["n"] }
bucket = { shape = ["n"] }
*/
#include <stdint.h>
static inline uint32_t fmix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}
void murmur(const int32_t *key, int32_t *bucket, int n) {
  for (int i = 0; i < n; i++) bucket[i] = (int32_t)(fmix32((uint32_t)key[i]) & 1023u);
}
