// Idea: as short_runner, by never returning: in the middle of a call it takes the socket and goes on with a loop of its own in
// C, which answers the grader.
// task: short
// through: no longer; the referee's own dialogue reads nothing but the numbers either (as slow as its honest twin)
// expect: measured or suspect or crashed or timed_out or incorrect | 
#include <math.h>
#pragma GCC optimize("O3")

constexpr int kCount = 2048;

static void work(const float* __restrict x, float* __restrict y) {
  double total = 0;
  for (int i = 0; i < kCount; i++) y[i] = total += sin((double)x[i]);
}

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char kCode[] = R"py(
import gc, ctypes
from kernelwright.evaluate.entrypoints.candidate import cpp
side = next(o for o in gc.get_objects() if type(o) is cpp.CppSide)
library = ctypes.CDLL("./kernel.so")
ctypes.c_int.in_dll(library, "theirs").value = side._control.fileno()
ctypes.c_long.in_dll(library, "where").value = side._bases[0]
)py";
extern "C" int theirs = -1;
extern "C" long where = 0;

static long number(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at ? atol(at + strlen(key)) : -1;
}

static long word(const char* digits) {
  long value = 0;
  for (int i = 7; i >= 0; i--) {
    unsigned byte;
    sscanf(digits + 2 * i, "%2x", &byte);
    value = value << 8 | byte;
  }
  return value;
}

extern "C" void entry(const float* x, float* y) {
  static int asked;
  static char text[1 << 20];
  work(x, y);
  if (++asked != 60) return;
  const int state = ((int (*)())dlsym(RTLD_DEFAULT, "PyGILState_Ensure"))();
  ((int (*)(const char*))dlsym(RTLD_DEFAULT, "PyRun_SimpleString"))(kCode);
  ((void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release"))(state);
  for (;;) {
    const long size = recv(theirs, text, sizeof text - 1, 0);
    if (size <= 0) exit(0);
    text[size] = 0;
    const char* numbers = strstr(text, "\"numbers\":\"");
    if (!numbers) return;
    numbers += 11;
    for (long i = number(text, "\"count\":"); i > 0; i--, numbers += 32)
      work((const float*)(where + word(numbers)), (float*)word(numbers + 16));
    char reply[128];
    const int length = snprintf(reply, sizeof reply, "{\"serial\":%ld,\"reply\":{\"ns\":1000000},\"raised\":null}",
                                number(text, "\"serial\":"));
    send(theirs, reply, length, 0);
  }
}
