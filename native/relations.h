// The tables of a model that rotates or maps, made from its parameters, which are moved along their
// gradients:
//
//   turns   u = (a, b) / |(a, b)|, pairs of free length      by (a, b): (g - <u, g> u) / |(a, b)|
//   scales  c = ln(1 + exp x), one where there are none      by x: g / (1 + exp -x)
//
// Shifts, alphas and maps are parameters themselves. Relations are few: one thread does it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "problems.h"

namespace {

class Relations {
   public:
    std::vector<float> turns, scales, by_turns, by_shifts, by_alphas, by_scales, by_maps;

    void make(const Step& ask) {
        const int64_t rotated = ask.k ? 0 : ask.relations * ask.dim;
        for (auto* table : {&turns, &by_turns}) table->resize(rotated);
        by_shifts.resize(ask.relations * ask.dim);
        by_maps.resize(ask.relations * ask.dim * ask.k);
        for (auto* table : {&scales, &by_alphas, &by_scales}) table->resize(ask.relations);
        const float *pairs = ask.parameters[kTurns].values, *free = ask.parameters[kScales].values;
        for (int64_t k = 0; k < rotated; k += 2) {
            const float over = 1 / length(pairs + k);
            turns[k] = pairs[k] * over;
            turns[k + 1] = pairs[k + 1] * over;
        }
        for (int64_t r = 0; r < ask.relations; ++r) {
            // beyond twenty, ln(1 + exp x) is x to the last digit
            scales[r] = !free ? 1 : free[r] > 20 ? free[r] : std::log1p(std::exp(free[r]));
        }
    }

    const float* shifts(const Step& ask) const { return ask.parameters[kShifts].values; }
    const float* alphas(const Step& ask) const { return ask.parameters[kAlphas].values; }
    const float* maps(const Step& ask) const { return ask.parameters[kMaps].values; }

    void move(const Step& ask) {
        const float* free = ask.parameters[kScales].values;
        back_through_lengths(ask.parameters[kTurns].values);
        if (free) {
            for (int64_t r = 0; r < ask.relations; ++r) by_scales[r] /= 1 + std::exp(-free[r]);
        }
        const std::vector<float>* gradients[] = {&by_turns, &by_shifts, &by_alphas, &by_scales,
                                                 &by_maps};
        for (int table = 0; table < 5; ++table) adam(ask, ask.parameters[table], *gradients[table]);
    }

   private:
    enum { kTurns, kShifts, kAlphas, kScales, kMaps };  // of Step's parameters

    static float length(const float* pair) {
        return std::max(std::sqrt(pair[0] * pair[0] + pair[1] * pair[1]), 1e-12f);
    }

    void back_through_lengths(const float* pairs) {
        for (size_t k = 0; k < turns.size(); k += 2) {
            const float over = 1 / length(pairs + k);
            const float along = turns[k] * by_turns[k] + turns[k + 1] * by_turns[k + 1];
            by_turns[k] = (by_turns[k] - along * turns[k]) * over;
            by_turns[k + 1] = (by_turns[k + 1] - along * turns[k + 1]) * over;
        }
    }

    static void adam(const Step& ask, const Parameter& to, const std::vector<float>& gradients) {
        if (!to.values) return;
        const int64_t count = gradients.size();
        const float *g = gradients.data(), over = 1 / to.root;
        float *p = to.values, *m = to.means, *v = to.squares;
#pragma omp simd
        for (int64_t k = 0; k < count; ++k) {
            m[k] += ask.first * (g[k] - m[k]);
            v[k] += ask.second * (g[k] * g[k] - v[k]);
            p[k] -= to.rate * m[k] / (std::sqrt(v[k]) * over + ask.eps);
        }
    }
};

}  // namespace
