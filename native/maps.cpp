// Query vectors of the model whose relations are affine maps in blocks, and their gradients.
//
//   q = B_r v + s_r,   B_r block-diagonal, of k x k blocks        AffinE
//
// hale/engine/maps.py has the same in plain torch calls and is the reference.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common.h"
#include "problems.h"
#include "segments.h"

namespace {

// K is the size of the blocks where the compiler is to know it, and 0 where it is ask.k.
template <int64_t K>
void map(const Map& ask) {
    const int64_t d = ask.d, k = K ? K : ask.k;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t i = 0; i < ask.b; ++i) {
        const int64_t r = ask.which[i];
        const float *v = ask.vectors + i * ask.stride, *s = ask.shifts + r * d,
                    *map = ask.maps + r * d * k;
        float* q = ask.queries + i * ask.width;
        for (int64_t from = 0; from < d; from += k) {
            for (int64_t row = from; row < from + k; ++row) {
                float total = s[row];
                for (int64_t j = 0; j < k; ++j) total += map[row * k + j] * v[from + j];
                q[row] = total;
            }
        }
    }
}

// Gradients of one row: by its vector, and added to those by its relation's map and shift.
template <int64_t K>
ALWAYS_INLINE void row_back(const Map& ask, int64_t i, float* by_map, float* by_shift) {
    const int64_t d = ask.d, k = K ? K : ask.k;
    const float *v = ask.vectors + i * ask.stride, *by_q = ask.by_queries + i * ask.width,
                *map = ask.maps + ask.which[i] * d * k;
    float* by_v = ask.by_vectors + i * ask.width;
#pragma omp simd
    for (int64_t c = 0; c < d; ++c) by_shift[c] += by_q[c];
    for (int64_t from = 0; from < d; from += k) {
        for (int64_t j = 0; j < k; ++j) by_v[from + j] = 0;
        for (int64_t row = from; row < from + k; ++row) {
            const float by = by_q[row];
            for (int64_t j = 0; j < k; ++j) {
                by_v[from + j] += map[row * k + j] * by;
                by_map[row * k + j] += v[from + j] * by;
            }
        }
    }
}

template <int64_t K>
void map_back(const Map& ask) {
    const int64_t d = ask.d, size = d * ask.k, width = size + d;
    const Segments segments(ask.which, ask.b, ask.relations);
    const int64_t count = segments.all.size();
    std::vector<float> sums(count * width);  // of a segment: its map, then its shift
#pragma omp parallel num_threads(std::max(1, ask.threads))
    {
#pragma omp for schedule(dynamic)
        for (int64_t s = 0; s < count; ++s) {
            const Segment& mine = segments.all[s];
            float* by_map = &sums[s * width];
            for (int64_t at = mine.first; at < mine.last; ++at) {
                row_back<K>(ask, segments.order[at], by_map, by_map + size);
            }
        }
#pragma omp for schedule(static)
        for (int64_t r = 0; r < ask.relations; ++r) {
            float *by_map = ask.by_maps + r * size, *by_shift = ask.by_shifts + r * d;
            std::fill_n(by_map, size, 0.0f);
            std::fill_n(by_shift, d, 0.0f);
            for (int64_t s = segments.firsts[r]; s < segments.firsts[r + 1]; ++s) {
                const float* sum = &sums[s * width];
                for (int64_t c = 0; c < size; ++c) by_map[c] += sum[c];
                for (int64_t c = 0; c < d; ++c) by_shift[c] += sum[size + c];
            }
        }
    }
}

}  // namespace

HALE_EXPORT int32_t hale_map(const Map* ask) {
    return told([&] {
        switch (ask->k) {
            case 2: return map<2>(*ask);
            case 4: return map<4>(*ask);
            case 8: return map<8>(*ask);
            default: return map<0>(*ask);
        }
    });
}

HALE_EXPORT int32_t hale_map_back(const Map* ask) {
    return told([&] {
        switch (ask->k) {
            case 2: return map_back<2>(*ask);
            case 4: return map_back<4>(*ask);
            case 8: return map_back<8>(*ask);
            default: return map_back<0>(*ask);
        }
    });
}
