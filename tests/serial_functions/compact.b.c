/* kernelwright
[sizes]
len = 400000
[arguments]
in = { shape = ["len"] }
out = { shape = ["len"] }
from = { shape = ["len"] }
above = { value = 0.4 }
found = { shape = [1] }
*/
void select_above(const float *restrict in, float *restrict out, int *restrict from, float above, int len, int *found) {
  const float *p = in;
  float *put = out;
  while (p != in + len) {
    if (!(*p > above)) {
      ++p;
      continue;
    }
    *from++ = (int)(p - in);
    *put++ = *p++;
  }
  *found = put - out;
}
