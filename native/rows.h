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

}  // namespace
