// CUDA C++ on the host, for what is right and not for how long it takes: a thread of the host for each block, and within it a
// fiber for each thread, which goes on until it waits for others. Put before a kernel; `run` takes its call.
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __shared__ static thread_local
#define __launch_bounds__(n)

using std::abs;

namespace host {
constexpr unsigned THREADS_A_BLOCK = 256, BLOCKS = 3, STACK = 1 << 17;
struct Index {
  unsigned x;
};
struct Meeting {
  unsigned here = 0, round = 0;
};
struct Block {
  ucontext_t back, fibers[THREADS_A_BLOCK];
  std::vector<char> stacks = std::vector<char>(std::size_t(THREADS_A_BLOCK) * STACK);
  bool done[THREADS_A_BLOCK] = {};
  Meeting all, warps[THREADS_A_BLOCK / 32];
  double slots[THREADS_A_BLOCK] = {};
  std::function<void()> call;
};
static thread_local Block* block;
}  // namespace host

static thread_local host::Index threadIdx, blockIdx;
static const host::Index gridDim{host::BLOCKS};

using std::abs;

namespace host {
inline void pause() {
  const unsigned me = threadIdx.x;
  swapcontext(&block->fibers[me], &block->back);
  threadIdx.x = me;
}
inline void meet(Meeting& meeting, unsigned count) {
  const unsigned round = meeting.round;
  if (++meeting.here == count) {
    meeting.here = 0;
    ++meeting.round;
  } else {
    while (meeting.round == round) pause();
  }
}
inline void begin() {
  block->call();
  block->done[threadIdx.x] = true;
}
inline void run_block(unsigned number, const std::function<void()>& call) {
  auto mine = std::make_unique<Block>();
  block = mine.get();
  block->call = call;
  blockIdx.x = number;
  for (unsigned t = 0; t < THREADS_A_BLOCK; ++t) {
    getcontext(&block->fibers[t]);
    block->fibers[t].uc_stack = {&block->stacks[std::size_t(t) * STACK], 0, STACK};
    block->fibers[t].uc_link = &block->back;
    makecontext(&block->fibers[t], begin, 0);
  }
  for (bool more = true; more;) {
    more = false;
    for (unsigned t = 0; t < THREADS_A_BLOCK; ++t)
      if (!block->done[t]) {
        threadIdx.x = t;
        more = true;
        swapcontext(&block->back, &block->fibers[t]);
      }
  }
}
inline void run(const std::function<void()>& call) {
  std::vector<std::thread> blocks;
  for (unsigned b = 0; b < BLOCKS; ++b) blocks.emplace_back(run_block, b, call);
  for (auto& one : blocks) one.join();
}
template <typename T>
T exchanged(T value, unsigned lane) {
  const unsigned warp = threadIdx.x / 32;
  std::memcpy(&block->slots[threadIdx.x], &value, sizeof(T));
  meet(block->warps[warp], 32);
  std::memcpy(&value, &block->slots[warp * 32 + lane % 32], sizeof(T));
  meet(block->warps[warp], 32);
  return value;
}
template <typename T, typename F>
T changed(T* at, F change) {
  T old, now;
  __atomic_load(at, &old, __ATOMIC_SEQ_CST);
  do now = change(old);
  while (!__atomic_compare_exchange(at, &old, &now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return old;
}
}  // namespace host

inline void __syncthreads() { host::meet(host::block->all, host::THREADS_A_BLOCK); }
inline void __syncwarp() { host::meet(host::block->warps[threadIdx.x / 32], 32); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); std::this_thread::yield(); }
template <typename T> T __shfl_xor_sync(unsigned, T value, int k) { return host::exchanged(value, threadIdx.x % 32 ^ k); }
template <typename T> T __shfl_sync(unsigned, T value, int lane) { return host::exchanged(value, lane); }
template <typename T, typename V> T atomicAdd(T* at, V v) { return host::changed(at, [=](T old) { return T(old + v); }); }
template <typename T, typename V> T atomicAnd(T* at, V v) { return host::changed(at, [=](T old) { return T(old & v); }); }
template <typename T, typename V> T atomicOr(T* at, V v) { return host::changed(at, [=](T old) { return T(old | v); }); }
template <typename T, typename V> T atomicXor(T* at, V v) { return host::changed(at, [=](T old) { return T(old ^ v); }); }
template <typename A, typename B> std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <typename A, typename B> std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }
using std::abs;
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
