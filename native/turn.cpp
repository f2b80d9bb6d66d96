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
        float* q = ask.queries + i * d;
        rotate(ask.turns + r * d, ask.vectors + i * ask.stride, d, q);
        if (!ask.shifts) continue;
        const float* s = ask.shifts + r * d;
        float by = 1;
        if (ask.alphas) by = ask.alphas[r] / std::max(1 + inner(q, s, d), kLeast);
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) q[k] = (q[k] + s[k]) * by;
    }
}

// What a thread has summed up for the relations: turns, shifts and alphas, row by row.
class Sums {
   public:
    explicit Sums(const Turn& ask)
        : d(ask.d), width(ask.alphas ? 2 * d + 1 : ask.shifts ? 2 * d : d),
          data(ask.relations * width) {}
    float* turns(int64_t r) { return &data[r * width]; }
    float* shifts(int64_t r) { return turns(r) + d; }
    float& alpha(int64_t r) { return turns(r)[2 * d]; }

   private:
    const int64_t d, width;
    std::vector<float> data;
};

// Gradients of one row; x and by_x have room for d numbers.
void row_back(const Turn& ask, int64_t i, Sums& sums, float* x, float* by_x) {
    const int64_t d = ask.d, r = ask.which[i];
    const float *v = ask.vectors + i * ask.stride, *by_q = ask.by_queries + i * d,
                *turn = ask.turns + r * d;
    if (ask.alphas) {
        // q = (x + s) alpha / D, D = 1 + <x, s>, or a constant where that is too small
        const float* s = ask.shifts + r * d;
        float* by_s = sums.shifts(r);
        rotate(turn, v, d, x);
        const float over = 1 + inner(x, s, d), below = std::max(over, kLeast);
        const float alpha = ask.alphas[r], by = alpha / below;
        float along = 0;  // <by_q, x + s>
#pragma omp simd reduction(+ : along)
        for (int64_t k = 0; k < d; ++k) along += by_q[k] * (x[k] + s[k]);
        sums.alpha(r) += along / below;
        const float by_inner = over >= kLeast ? -along * by / below : 0.0f;
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) {
            by_x[k] = by_q[k] * by + by_inner * s[k];
            by_s[k] += by_q[k] * by + by_inner * x[k];
        }
        by_q = by_x;
    } else if (ask.shifts) {
        float* by_s = sums.shifts(r);
#pragma omp simd
        for (int64_t k = 0; k < d; ++k) by_s[k] += by_q[k];
    }
    float *by_v = ask.by_vectors + i * d, *by_turn = sums.turns(r);
    for (int64_t k = 0; k < d; k += 2) {
        by_v[k] = turn[k] * by_q[k] + turn[k + 1] * by_q[k + 1];
        by_v[k + 1] = turn[k] * by_q[k + 1] - turn[k + 1] * by_q[k];
        by_turn[k] += v[k] * by_q[k] + v[k + 1] * by_q[k + 1];
        by_turn[k + 1] += v[k] * by_q[k + 1] - v[k + 1] * by_q[k];
    }
}

void turn_back(const Turn& ask) {
    const int64_t d = ask.d;
    const int asked = std::max(1, ask.threads);
    std::vector<Sums*> found(asked, nullptr);
#pragma omp parallel num_threads(asked)
    {
        Sums mine(ask);
        std::vector<float> room(2 * d);
        found[omp_get_thread_num()] = &mine;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < ask.b; ++i) row_back(ask, i, mine, &room[0], &room[d]);
        // In the order of the threads, so that the same number of them gives the same bits.
#pragma omp for schedule(static)
        for (int64_t r = 0; r < ask.relations; ++r) {
            std::fill_n(ask.by_turns + r * d, d, 0.0f);
            if (ask.by_shifts) std::fill_n(ask.by_shifts + r * d, d, 0.0f);
            if (ask.by_alphas) ask.by_alphas[r] = 0;
            for (Sums* sums : found) {
                if (!sums) continue;
                for (int64_t k = 0; k < d; ++k) ask.by_turns[r * d + k] += sums->turns(r)[k];
                if (ask.by_shifts) {
                    for (int64_t k = 0; k < d; ++k) ask.by_shifts[r * d + k] += sums->shifts(r)[k];
                }
                if (ask.by_alphas) ask.by_alphas[r] += sums->alpha(r);
            }
        }
    }
}

}  // namespace

HALE_EXPORT void hale_turn(const Turn* ask) { turn(*ask); }

HALE_EXPORT void hale_turn_back(const Turn* ask) { turn_back(*ask); }
