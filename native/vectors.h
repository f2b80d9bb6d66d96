// Vectors of floats: loads, the arithmetic that the compiler does not know, and the register block.
#pragma once

#include <cstdint>
#include <cstring>

#include "common.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

#define UNROLL _Pragma("GCC unroll 16")

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kMaxQueryVectors = 7, kMaxDimVectors = 4;
#elif defined(__AVX__)
constexpr int kLanes = 8;
constexpr int kMaxQueryVectors = 3, kMaxDimVectors = 3;
#else
constexpr int kLanes = 4;
constexpr int kMaxQueryVectors = 3, kMaxDimVectors = 3;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef int32_t IVec __attribute__((vector_size(kLanes * 4)));

// Rows of a register block of V vectors: as many as the registers hold.
constexpr int rows_for(int vectors) {
    constexpr int wide[] = {0, 12, 12, 8, 6, 5, 4, 3}, narrow[] = {0, 8, 6, 4};
    return kLanes == 16 ? wide[vectors] : narrow[vectors];
}

constexpr int kMaxRows = 12;  // the largest of rows_for()

// Entities of a tile: a multiple of every rows_for(); with its g it fits the second-level cache.
constexpr int kTile = 120;

ALWAYS_INLINE Vec splat(float x) { return x - Vec{}; }  // minus zero: exact, so it folds away

ALWAYS_INLINE Vec load(const float* from) {
    Vec x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

ALWAYS_INLINE void store(float* to, Vec x) { std::memcpy(to, &x, sizeof x); }

// Where either is NaN, the second: a NaN among the inputs must reach the result.
#if defined(__AVX512F__)
ALWAYS_INLINE Vec smaller(Vec a, Vec b) { return (Vec)_mm512_min_ps((__m512)a, (__m512)b); }
ALWAYS_INLINE Vec larger(Vec a, Vec b) { return (Vec)_mm512_max_ps((__m512)a, (__m512)b); }
#elif defined(__AVX__)
ALWAYS_INLINE Vec smaller(Vec a, Vec b) { return (Vec)_mm256_min_ps((__m256)a, (__m256)b); }
ALWAYS_INLINE Vec larger(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
#else
ALWAYS_INLINE Vec smaller(Vec a, Vec b) { return a < b ? a : b; }
ALWAYS_INLINE Vec larger(Vec a, Vec b) { return a > b ? a : b; }
#endif

ALWAYS_INLINE float sum(Vec x) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)x);
#else
    float total = 0;
    for (int i = 0; i < kLanes; ++i) total += x[i];
    return total;
#endif
}

// Hold a vector in a register as it is: the compiler neither loads it anew for every use nor fuses
// what made it into what uses it.
ALWAYS_INLINE void keep(Vec& x) {
#if defined(__AVX512F__)
    asm("" : "+v"(x));
#elif defined(__x86_64__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#else
    (void)x;
#endif
}

constexpr float kLog2e = 1.44269504088896341f;

constexpr float kMaxPower = 125.0f;

// 2^y for -kMaxPower <= y <= kMaxPower, to 2e-7: the nearest power of two by rounding with a large
// constant and adding to the exponent bits, times a polynomial on [-1/2, 1/2].
ALWAYS_INLINE Vec exp2(Vec y) {
    const Vec magic = splat(12582912.0f);  // 1.5 * 2^23
    Vec shifted = y + magic;
    Vec f = y - (shifted - magic);
    Vec p = splat(1.33908634e-3f);
    p = p * f + splat(9.67603192e-3f);
    p = p * f + splat(5.55035711e-2f);
    p = p * f + splat(2.40221075e-1f);
    p = p * f + splat(6.93147188e-1f);
    p = p * f + splat(1.00000008f);
    return (Vec)((IVec)p + ((IVec)shifted << 23));
}

// exp(-x) for x >= 0; beyond float's range the smallest power instead of zero.
ALWAYS_INLINE Vec exp_minus(Vec x) { return exp2(larger(splat(-kMaxPower), x * splat(-kLog2e))); }

ALWAYS_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
    Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);
    return guess * (splat(2.0f) - x * guess);
#else
    return splat(1.0f) / x;
#endif
}

// acc[r][v] += sum_k a[r * row + k * step] * b[k * width + v * lanes ...]
template <int R, int V>
ALWAYS_INLINE void multiply(Vec (&acc)[R][V], int64_t depth, const float* a, int64_t row,
                            int64_t step, const float* b, int64_t width) {
    for (int64_t k = 0; k < depth; ++k) {
        Vec right[V];
        UNROLL for (int v = 0; v < V; ++v) {
            right[v] = load(b + k * width + v * kLanes);
            if (V > 4) keep(right[v]);
        }
        UNROLL for (int r = 0; r < R; ++r) {
            Vec left = splat(a[r * row + k * step]);
            UNROLL for (int v = 0; v < V; ++v) acc[r][v] += left * right[v];
        }
    }
}

}  // namespace
