// Rows of a table that Adam has left behind, and how far they have to go.
//
// Adam moves a row by its momentum for a while after its last gradient:
//
//   m <- beta1 m,   v <- beta2 v,   p <- p - rate m / (sqrt(v) + eps)
//
// After k such steps m and v are beta1^k and beta2^k times what they were, and p has moved by
// m / (sqrt(v) + eps) times the sum over those steps of rate (beta1 / sqrt(beta2))^j, j = 1..k,
// which is the same for all rows that were last touched at the same step: `due`. So a row need not
// move until it is read. hale/engine/lag.py has the same in torch calls, and keeps `due`.
#pragma once

#include <cmath>
#include <cstdint>

#include "common.h"

namespace {

class Lag {
   public:
    template <class Ask>
    explicit Lag(const Ask& ask)
        : eps(ask.eps),
          last(ask.last),
          due(ask.due),
          step(ask.step),
          first(std::log1p(-ask.first)),
          second(std::log1p(-ask.second)) {}

    const float eps;

    ALWAYS_INLINE int64_t missed(int64_t row) const { return step - last[row]; }
    ALWAYS_INLINE float way(int64_t row) const { return due[last[row]]; }
    // How much is left of a mean and of a square after so many steps.
    ALWAYS_INLINE float kept_first(int64_t steps) const { return std::exp(steps * first); }
    ALWAYS_INLINE float kept_second(int64_t steps) const { return std::exp(steps * second); }

   private:
    const int32_t* last;  // (n,) the step that touched a row last
    const float* due;     // (step + 1,) how far the rows last touched at a step have to go
    const int64_t step;   // steps until now
    const float first, second;  // logarithms of the betas
};

}  // namespace
