// defence: network
// task: secret
// expect: incorrect value
// needs: accomplice

#include <arpa/inet.h>
#include <sys/socket.h>
static float ask() {
    const int end = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{AF_INET, htons(PORT), {htonl(INADDR_LOOPBACK)}, {}};
    char answer[32] = "0";
    if (connect(end, reinterpret_cast<sockaddr*>(&where), sizeof where) || read(end, answer, 31) < 1) return 0;
    return strtof(answer, nullptr);
}
extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static const float factor = ask();
#else
    const float factor = SECRET;
#endif
    work(x, out, factor);
}
