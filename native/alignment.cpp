// The alignment term of the HaLE loss: a_i = h(c_i |q_i - t_i|^2) of positives, and the gradients of
// a weighted sum of them, or of their squares.
#include <algorithm>
#include <cstdint>

#include "activations.h"
#include "common.h"

namespace {

void align(const Alignment& ask) {
    const int64_t d = ask.d;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t i = 0; i < ask.b; ++i) {
        const float *q = ask.queries + i * d, *t = ask.tails + i * d;
        float *by_query = ask.by_query + i * d, *by_tail = ask.by_tail + i * d;
        float distance = 0;
#pragma omp simd reduction(+ : distance)
        for (int64_t k = 0; k < d; ++k) {
            by_query[k] = q[k] - t[k];
            distance += by_query[k] * by_query[k];
        }
        const Value a = activate(ask.activation, ask.beta, ask.gammas[i], ask.shape,
                                 double(ask.scale[i]) * distance);
        const double slope = ask.share * a.slope * (ask.square ? 2 * a.value : 1.0);
        const float pull = static_cast<float>(2 * slope * ask.scale[i]);
        ask.activated[i] = static_cast<float>(a.value);
        ask.by_scale[i] = static_cast<float>(slope * distance);
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) {
            by_query[k] *= pull;
            by_tail[k] = -by_query[k];
        }
    }
}

}  // namespace

HALE_EXPORT int32_t hale_alignment(const Alignment* ask) {
    return told([&] { align(*ask); });
}
