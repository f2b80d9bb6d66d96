// Dropout: which numbers of a table are zeroed, by draws that depend on key and place alone.
//
// Two numbers share a draw of 32 bits, which is a function of their place and the key; each takes
// half of them. hale/models/dropout.py has the same in numpy.
#include <algorithm>
#include <cstdint>

#include "mix.h"
#include "problems.h"

HALE_EXPORT int32_t hale_mask(const Mask* ask) {
    const float kept = 65536.0f / static_cast<float>(65536 - ask->lost);
    const uint32_t lost = ask->lost, key = ask->key;
    const int64_t pairs = ask->count / 2;
    float* mask = ask->mask;
#pragma omp parallel for simd schedule(static) num_threads(std::max(1, ask->threads))
    for (int64_t p = 0; p < pairs; ++p) {
        const uint32_t drawn = mix(mix(static_cast<uint32_t>(p)) ^ key);
        mask[2 * p] = (drawn & 0xffffu) >= lost ? kept : 0.0f;
        mask[2 * p + 1] = (drawn >> 16) >= lost ? kept : 0.0f;
    }
    if (ask->count % 2) {
        const uint32_t drawn = mix(mix(static_cast<uint32_t>(pairs)) ^ key);
        mask[2 * pairs] = (drawn & 0xffffu) >= lost ? kept : 0.0f;
    }
    return kDone;  // nothing here asks for memory
}
