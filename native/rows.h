// Rows of a table that are read or written in no order.
#pragma once

#include <cstdint>

#include "common.h"

namespace {

// Call a row up while others are worked on.
ALWAYS_INLINE void call_up(const float* row, int64_t d) {
    for (int64_t k = 0; k < d; k += 16) __builtin_prefetch(row + k);
}

constexpr int64_t kAhead = 16;  // rows between the call and the use

// table[ids[i]] += by * rows[i], by one of several threads. Ids repeat, so each thread adds to
// rows of its own: the same bits at every run.
ALWAYS_INLINE void add_rows(float* table, int64_t d, const int64_t* ids, const float* rows,
                            int64_t count, float by) {
    const uint32_t threads = omp_get_num_threads(), mine = omp_get_thread_num();
    const auto is_mine = [&](int64_t i) { return uint32_t(ids[i]) % threads == mine; };
    for (int64_t i = 0; i < count; ++i) {
        if (i + kAhead < count && is_mine(i + kAhead)) call_up(table + ids[i + kAhead] * d, d);
        if (!is_mine(i)) continue;
        float* to = table + ids[i] * d;
        const float* from = rows + i * d;
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) to[k] += by * from[k];
    }
}

}  // namespace
