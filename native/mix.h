// 32 bits mixed (Murmur3's finaliser), so that close numbers come out far apart.
#pragma once

#include <cstdint>

#include "common.h"

namespace {

ALWAYS_INLINE uint32_t mix(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

}  // namespace
