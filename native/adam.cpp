// Adam on the rows of a table that a step touches, each from where its momentum has taken it since
// it was touched last (lag.h): what torch.optim.Adam does to all rows, at the cost of those touched.
//
//   m <- m + (1 - beta1) (g - m)
//   v <- v + (1 - beta2) (g^2 - v)
//   p <- p - rate sqrt(1 - beta2^t) / (1 - beta1^t)  m / (sqrt(v) + eps)
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lag.h"
#include "problems.h"
#include "rows.h"

namespace {

struct Row {
    float *p, *m, *v;
    int64_t d;
};

void catch_up(const Row& row, const Lag& lag, int64_t missed, float way) {
    const float first = lag.kept_first(missed), second = lag.kept_second(missed);
#pragma omp simd
    for (int64_t k = 0; k < row.d; ++k) {
        row.p[k] -= way * row.m[k] / (std::sqrt(row.v[k]) + lag.eps);
        row.m[k] *= first;
        row.v[k] *= second;
    }
}

void move(const Row& row, const float* g, const AdamRows& ask) {
    const float first = ask.first, second = ask.second, rate = ask.rate, eps = ask.eps;
#pragma omp simd
    for (int64_t k = 0; k < row.d; ++k) {
        row.m[k] += first * (g[k] - row.m[k]);
        row.v[k] += second * (g[k] * g[k] - row.v[k]);
        row.p[k] -= rate * row.m[k] / (std::sqrt(row.v[k]) + eps);
    }
}

Row row_of(const AdamRows& ask, int64_t id) {
    const int64_t at = id * ask.d;
    return {ask.table + at, ask.means + at, ask.squares + at, ask.d};
}

void call_up(const AdamRows& ask, int64_t id) {
    const Row row = row_of(ask, id);
    for (const float* part : {row.p, row.m, row.v}) call_up(part, ask.d);
}

// Of ids that may repeat each thread takes rows of its own; who comes twice is up to date.
void settle(const AdamRows& ask, const Lag& lag) {
#pragma omp parallel num_threads(std::max(1, ask.threads))
    {
        const int64_t threads = omp_get_num_threads(), mine = omp_get_thread_num();
        for (int64_t i = 0; i < ask.b; ++i) {
            const int64_t id = ask.ids ? ask.ids[i] : i;
            if (id % threads != mine || !lag.missed(id)) continue;
            catch_up(row_of(ask, id), lag, lag.missed(id), lag.way(id));
            ask.last[id] = static_cast<int32_t>(ask.step);
        }
    }
}

void move(const AdamRows& ask, const Lag& lag) {
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t i = 0; i < ask.b; ++i) {
        if (i + kAhead < ask.b) call_up(ask, ask.ids[i + kAhead]);
        const int64_t id = ask.ids[i], missed = lag.missed(id);
        const Row row = row_of(ask, id);
        if (missed) catch_up(row, lag, missed, lag.way(id));
        move(row, ask.gradients + i * ask.d, ask);
        ask.last[id] = static_cast<int32_t>(ask.step + 1);
    }
}

}  // namespace

HALE_EXPORT int32_t hale_adam_rows(const AdamRows* ask) {
    return told([&] {
        const Lag lag(*ask);
        ask->gradients ? move(*ask, lag) : settle(*ask, lag);
    });
}

