// Adam on the rows of a table that a step touches, as torch.optim.SparseAdam has it.
//
//   m <- m + (1 - beta1) (g - m)
//   v <- v + (1 - beta2) (g^2 - v)
//   p <- p - rate sqrt(1 - beta2^t) / (1 - beta1^t)  m / (sqrt(v) + eps)
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "problems.h"
#include "rows.h"

HALE_EXPORT void hale_adam_rows(const AdamRows* problem) {
    const AdamRows& ask = *problem;
    const int64_t d = ask.d;
    const float first = ask.first, second = ask.second, rate = ask.rate, eps = ask.eps;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t i = 0; i < ask.b; ++i) {
        if (i + kAhead < ask.b) {
            const int64_t ahead = ask.ids[i + kAhead] * d;
            call_up(ask.table + ahead, d);
            call_up(ask.means + ahead, d);
            call_up(ask.squares + ahead, d);
        }
        const float* g = ask.gradients + i * d;
        float *p = ask.table + ask.ids[i] * d, *m = ask.means + ask.ids[i] * d,
              *v = ask.squares + ask.ids[i] * d;
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) {
            m[k] += first * (g[k] - m[k]);
            v[k] += second * (g[k] * g[k] - v[k]);
            p[k] -= rate * m[k] / (std::sqrt(v[k]) + eps);
        }
    }
}
