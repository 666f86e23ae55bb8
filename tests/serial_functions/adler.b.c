/* kernelwright
[sizes]
len = 1000000
[arguments]
bytes = { shape = ["len"], values = "index", bound = 256 }
check = { shape = [2] }
*/
#include <stddef.h>
#include <stdint.h>
/* the remainder is taken only once in 5552 bytes, before 32 bits are full */
void checksum(const uint8_t *bytes, int64_t *check, size_t len) {
  uint32_t low = 1, high = 0;
  const uint8_t *p = bytes;
  size_t left = len;
  while (left > 0) {
    size_t part = left > 5552 ? 5552 : left;
    left -= part;
    do {
      low += *p++;
      high += low;
    } while (--part);
    low %= 65521u;
    high %= 65521u;
  }
  check[0] = low;
  check[1] = high;
}
