/* kernelwright
[sizes]
count = 1000000
[arguments]
octets = { shape = ["count"], values = "index", bound = 256 }
pair = { shape = [2] }
*/
#define PRIME 65521L
static long weight(long i, long count) { return (count - i) % PRIME; }

void adler_weighted(const unsigned char *octets, long *pair, long count) {
  long plain = 1, weighted = count % PRIME;
  for (long i = 0; i < count; i++) {
    plain += octets[i];
    weighted += weight(i, count) * octets[i];
  }
  pair[0] = plain % PRIME;
  pair[1] = weighted % PRIME;
}
