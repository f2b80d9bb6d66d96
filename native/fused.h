// Products and sums rounded in one way wherever they stand: one number at a time or a vector of
// them, in a block of registers or alone.
//
// A compiler may fuse a * b + c here and not there, and the last bit differs. Sources that compare
// numbers for equality are compiled without that freedom (-ffp-contract=off) and say it themselves.
#pragma once

#include <cstdint>

#include "vectors.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

// a b + c, in one rounding where the build's processors can, else in two.
#if defined(__AVX512F__)
ALWAYS_INLINE Vec fused(Vec a, Vec b, Vec c) {
    return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#elif defined(__FMA__)
ALWAYS_INLINE Vec fused(Vec a, Vec b, Vec c) {
    return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#elif defined(__aarch64__)
ALWAYS_INLINE Vec fused(Vec a, Vec b, Vec c) {
    return (Vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
ALWAYS_INLINE Vec fused(Vec a, Vec b, Vec c) { return a * b + c; }
ALWAYS_INLINE float fused(float a, float b, float c) { return a * b + c; }
#endif

// |e|^2.
ALWAYS_INLINE float square_of(const float* e, int64_t d) {
    const int64_t whole = d / kLanes * kLanes;
    Vec total{};
    for (int64_t k = 0; k < whole; k += kLanes) {
        const Vec part = load(e + k);
        total = fused(part, part, total);
    }
    float rest = sum(total);
    for (int64_t k = whole; k < d; ++k) rest = fused(e[k], e[k], rest);
    return rest;
}

}  // namespace
