// Rows of a table: looked up, added to it, and summed up by the row that they belong to.
#include "rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "problems.h"
#include "radix.h"

namespace {

void gather(const Rows& ask) {
    const int64_t d = ask.d;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t i = 0; i < ask.b; ++i) {
        if (i + kAhead < ask.b) call_up(ask.table + ask.ids[i + kAhead] * d, d);
        std::memcpy(ask.rows + i * d, ask.table + ask.ids[i] * d, d * sizeof(float));
    }
}

// table[ids[i]] += rows[i]. Ids repeat, so each thread adds to rows of its own, in their order: the
// same bits on any number of threads.
void add(const Rows& ask) {
    const int64_t d = ask.d;
#pragma omp parallel num_threads(std::max(1, ask.threads))
    {
        const uint32_t threads = omp_get_num_threads(), mine = omp_get_thread_num();
        const auto is_mine = [&](int64_t i) { return uint32_t(ask.ids[i]) % threads == mine; };
        for (int64_t i = 0; i < ask.b; ++i) {
            if (i + kAhead < ask.b && is_mine(i + kAhead)) {
                call_up(ask.table + ask.ids[i + kAhead] * d, d);
            }
            if (!is_mine(i)) continue;
            float* to = ask.table + ask.ids[i] * d;
            const float* from = ask.rows + i * d;
#pragma omp simd
            for (int64_t k = 0; k < d; ++k) to[k] += from[k];
        }
    }
}

struct Entry {
    uint32_t id, place;
};

// All entries of all parts, by id, those of one id in the order of their places.
std::vector<Entry> sorted(const SumRows& ask) {
    std::vector<Entry> entries;
    uint32_t place = 0;
    for (int64_t p = 0; p < ask.parts; ++p) {
        for (int64_t i = 0; i < ask.counts[p]; ++i) {
            entries.push_back({static_cast<uint32_t>(ask.ids[p][i]), place++});
        }
    }
    sort_by(entries, [](const Entry& entry) { return entry.id; });
    return entries;
}

int64_t sum_up(const SumRows& ask) {
    const int64_t d = ask.d;
    const std::vector<Entry> entries = sorted(ask);
    std::vector<const float*> rows;  // of every place
    for (int64_t p = 0; p < ask.parts; ++p) {
        for (int64_t i = 0; i < ask.counts[p]; ++i) rows.push_back(ask.rows[p] + i * d);
    }
    std::vector<int64_t> begins;  // of each id's entries
    const int64_t total = entries.size();
    for (int64_t i = 0; i < total; ++i) {
        if (i == 0 || entries[i].id != entries[i - 1].id) begins.push_back(i);
    }
    const int64_t count = begins.size();
    begins.push_back(total);
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t u = 0; u < count; ++u) {
        float* to = ask.summed + u * d;
        ask.touched[u] = entries[begins[u]].id;
        std::memcpy(to, rows[entries[begins[u]].place], d * sizeof(float));
        for (int64_t i = begins[u] + 1; i < begins[u + 1]; ++i) {
            const float* from = rows[entries[i].place];
#pragma omp simd
            for (int64_t k = 0; k < d; ++k) to[k] += from[k];
        }
    }
    return count;
}

}  // namespace

HALE_EXPORT int32_t hale_gather_rows(const Rows* ask) {
    return told([&] { gather(*ask); });
}

HALE_EXPORT int32_t hale_add_rows(const Rows* ask) {
    return told([&] { add(*ask); });
}

HALE_EXPORT int32_t hale_sum_rows(const SumRows* ask) {
    return told([&] { *ask->count = sum_up(*ask); });
}
