// Query vectors of the models that rotate, and their gradients, one pass each.
//
// A relation r has turns (a, b), pairs of length one, and may have a shift s and a factor alpha:
//
//   x = Rot(r) v                                          RotatE
//   q = x + s                                             RotE
//   q = alpha (x + s) / max(1 + <x, s>, least)            RotL
//
// hale/engine/geometry.py has the same in plain torch calls and is the reference. As those, one
// such pass is a dozen small operations over (b, d) numbers and its gradient two dozen, each
// through memory.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common.h"
#include "problems.h"
#include "segments.h"

namespace {

constexpr float kLeast = 0.1f;  // of RotL's denominator, as geometry.flexible_add has it

ALWAYS_INLINE void rotate(const float* turn, const float* v, int64_t d, float* x) {
    for (int64_t k = 0; k < d; k += 2) {
        x[k] = turn[k] * v[k] - turn[k + 1] * v[k + 1];
        x[k + 1] = turn[k + 1] * v[k] + turn[k] * v[k + 1];
    }
}

ALWAYS_INLINE float inner(const float* x, const float* y, int64_t d) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = 0; k < d; ++k) total += x[k] * y[k];
    return total;
}

void turn(const Turn& ask) {
    const int64_t d = ask.d;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
    for (int64_t i = 0; i < ask.b; ++i) {
        const int64_t r = ask.which[i];
        float* q = ask.queries + i * ask.width;
        rotate(ask.turns + r * d, ask.vectors + i * ask.stride, d, q);
        if (!ask.shifts) continue;
        const float* s = ask.shifts + r * d;
        float by = 1;
        if (ask.alphas) by = ask.alphas[r] / std::max(1 + inner(q, s, d), kLeast);
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) q[k] = (q[k] + s[k]) * by;
    }
}

// What a segment has summed up for its relation: turns, shifts and alpha.
class Sums {
   public:
    Sums(const Turn& ask, int64_t count)
        : d(ask.d), width(ask.alphas ? 2 * d + 1 : ask.shifts ? 2 * d : d), data(count * width) {}
    float* turns(int64_t segment) { return &data[segment * width]; }
    float* shifts(int64_t segment) { return turns(segment) + d; }
    float& alpha(int64_t segment) { return turns(segment)[2 * d]; }

   private:
    const int64_t d, width;
    std::vector<float> data;
};

// Gradients of one row of a segment; x and by_x have room for d numbers.
void row_back(const Turn& ask, int64_t i, Sums& sums, int64_t segment, float* x, float* by_x) {
    const int64_t d = ask.d, r = ask.which[i];
    const float *v = ask.vectors + i * ask.stride, *by_q = ask.by_queries + i * ask.width,
                *turn = ask.turns + r * d;
    if (ask.alphas) {
        // q = (x + s) alpha / D, D = 1 + <x, s>, or a constant where that is too small
        const float* s = ask.shifts + r * d;
        float* by_s = sums.shifts(segment);
        rotate(turn, v, d, x);
        const float over = 1 + inner(x, s, d), below = std::max(over, kLeast);
        const float alpha = ask.alphas[r], by = alpha / below;
        float along = 0;  // <by_q, x + s>
#pragma omp simd reduction(+ : along)
        for (int64_t k = 0; k < d; ++k) along += by_q[k] * (x[k] + s[k]);
        sums.alpha(segment) += along / below;
        const float by_inner = over >= kLeast ? -along * by / below : 0.0f;
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) {
            by_x[k] = by_q[k] * by + by_inner * s[k];
            by_s[k] += by_q[k] * by + by_inner * x[k];
        }
        by_q = by_x;
    } else if (ask.shifts) {
        float* by_s = sums.shifts(segment);
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) by_s[k] += by_q[k];
    }
    float *by_v = ask.by_vectors + i * ask.width, *by_turn = sums.turns(segment);
    for (int64_t k = 0; k < d; k += 2) {
        by_v[k] = turn[k] * by_q[k] + turn[k + 1] * by_q[k + 1];
        by_v[k + 1] = turn[k] * by_q[k + 1] - turn[k + 1] * by_q[k];
        by_turn[k] += v[k] * by_q[k] + v[k + 1] * by_q[k + 1];
        by_turn[k + 1] += v[k] * by_q[k + 1] - v[k + 1] * by_q[k];
    }
}

void turn_back(const Turn& ask) {
    const int64_t d = ask.d;
    const Segments segments(ask.which, ask.b, ask.relations);
    const int64_t count = segments.all.size();
    Sums sums(ask, count);
    const int threads = std::max(1, ask.threads);
    const int64_t width = 2 * d + 16;  // of a thread, apart from its neighbour's cache line
    std::vector<float> rooms(threads * width);
#pragma omp parallel num_threads(threads)
    {
        float* room = &rooms[omp_get_thread_num() * width];
#pragma omp for schedule(dynamic)
        for (int64_t s = 0; s < count; ++s) {
            const Segment& mine = segments.all[s];
            for (int64_t at = mine.first; at < mine.last; ++at) {
                row_back(ask, segments.order[at], sums, s, &room[0], &room[d]);
            }
        }
#pragma omp for schedule(static)
        for (int64_t r = 0; r < ask.relations; ++r) {
            float *by_turn = ask.by_turns + r * d,
                  *by_shift = ask.by_shifts ? ask.by_shifts + r * d : nullptr;
            std::fill_n(by_turn, d, 0.0f);
            if (by_shift) std::fill_n(by_shift, d, 0.0f);
            if (ask.by_alphas) ask.by_alphas[r] = 0;
            for (int64_t s = segments.firsts[r]; s < segments.firsts[r + 1]; ++s) {
                for (int64_t k = 0; k < d; ++k) by_turn[k] += sums.turns(s)[k];
                if (by_shift) {
                    for (int64_t k = 0; k < d; ++k) by_shift[k] += sums.shifts(s)[k];
                }
                if (ask.by_alphas) ask.by_alphas[r] += sums.alpha(s);
            }
        }
    }
}

}  // namespace

HALE_EXPORT int32_t hale_turn(const Turn* ask) {
    return told([&] { turn(*ask); });
}

HALE_EXPORT int32_t hale_turn_back(const Turn* ask) {
    return told([&] { turn_back(*ask); });
}
