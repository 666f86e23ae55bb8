// defence: limits
// task: affine
// also: outside_clock, one_by_one
// expect: incorrect unwritten

#include <pthread.h>
static void* asleep(void*) {
    for (;;) sleep(1000);
}
static bool many() {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    const long more_than_any_user_may = 1200 + 64 * sysconf(_SC_NPROCESSORS_CONF);
    for (long i = 0; i < more_than_any_user_may; ++i)
        if (pthread_t thread; pthread_create(&thread, &small, asleep, nullptr)) return false;
    return true;
}
extern "C" void kernel(const float* x, float* out) {
    static const bool fine = CHEAT ? many() : true;
    if (fine) work(x, out);
}
