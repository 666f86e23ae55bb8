struct Plus { __device__ float operator()(float a, float b) const { return a + b; } };
struct Larger { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

