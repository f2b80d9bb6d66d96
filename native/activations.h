// Activations h: vectors of w = exp(floor - h(x)) and g = w h'(x) / factor(gamma) for the sweep
// over all entities, and one number at a time for positives.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "problems.h"
#include "vectors.h"

namespace {

struct Weighed {
    Vec w, g;
};

// What the queries of a vector have of their own.
struct Own {
    Vec floor;   // h at the nearest entity, where the activation is not bounded
    Vec gamma;   // the bound
    Vec middle;  // (beta / 2 + ln gamma) log2(e), where Hanon is halfway up
};

inline float middle_of(float beta, float gamma) { return (beta * 0.5f + std::log(gamma)) * kLog2e; }

// Hanon: gamma times a sigmoid. Bounded by gamma, it needs no floor: exp(-h) stays in range. So do
// the odds u, for x >= 0, where `middle` does.
struct Hanon {
    static constexpr bool bounded = true;
    float beta, steepness;  // beta, beta log2(e)
    explicit Hanon(float b) : beta(b), steepness(b * kLog2e) {}
    float factor(float gamma) const { return beta * gamma; }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec y = larger(splat(-kMaxPower), own.middle - x * splat(steepness));
        Vec u = exp2(y), share = reciprocal(u + splat(1.0f)), rest = u * share;  // 1 - share
        Vec w = exp2(share * (own.gamma * splat(-kLog2e)));
        return {w, w * (share * rest)};
    }
};

// The others know value(x), the same bits for floor and weights: at the nearest entity their
// difference must be zero, however large they are.
ALWAYS_INLINE Vec above(Vec value, Vec floor) {
    keep(value);
    return exp_minus(larger(splat(0.0f), value - floor));
}

// A Hanon whose bound or middle is beyond exp()'s range.
struct SteepHanon {
    static constexpr bool bounded = false;
    float beta, steepness;
    explicit SteepHanon(float b) : beta(b), steepness(b * kLog2e) {}
    float factor(float) const { return beta; }
    ALWAYS_INLINE Vec odds(Vec x, const Own& own) const {
        Vec y = larger(splat(-kMaxPower), own.middle - x * splat(steepness));
        return exp2(smaller(splat(kMaxPower), y));
    }
    ALWAYS_INLINE Vec value(Vec x, const Own& own) const {
        return reciprocal(odds(x, own) + splat(1.0f)) * own.gamma;
    }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec u = odds(x, own), share = reciprocal(u + splat(1.0f)), a = share * own.gamma;
        Vec w = above(a, own.floor);
        return {w, w * (a * (u * share))};
    }
};

struct Halin {
    static constexpr bool bounded = false;
    float beta;
    float factor(float) const { return 1.0f; }
    ALWAYS_INLINE Vec uncut(Vec x) const {
        return x < splat(1.0f) ? x + x : splat(beta) * (x - splat(1.0f)) + splat(2.0f);
    }
    ALWAYS_INLINE Vec value(Vec x, const Own& own) const { return smaller(own.gamma, uncut(x)); }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec slope = x < splat(1.0f) ? splat(2.0f) : splat(beta);
        slope = uncut(x) < own.gamma ? slope : splat(0.0f);
        Vec w = above(value(x, own), own.floor);
        return {w, w * slope};
    }
};

struct XExp {
    static constexpr bool bounded = false;
    static constexpr float limit = 40.0f;
    float factor(float) const { return 1.0f; }
    ALWAYS_INLINE Vec grown(Vec x) const { return exp2(smaller(splat(limit), x) * splat(kLog2e)); }
    ALWAYS_INLINE Vec value(Vec x, const Own&) const { return x * grown(x); }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec up = grown(x), w = above(x * up, own.floor);
        return {w, w * (x < splat(limit) ? up * (splat(1.0f) + x) : up)};
    }
};

struct Linear {  // 2x and x
    static constexpr bool bounded = false;
    float slope;
    float factor(float) const { return slope; }
    ALWAYS_INLINE Vec value(Vec x, const Own&) const { return splat(slope) * x; }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec w = above(value(x, own), own.floor);
        return {w, w};
    }
};

struct Arctanh {  // exp(-2 arctanh(x)) = (1 - x) / (1 + x): no logarithm needed
    static constexpr bool bounded = true;
    static constexpr float limit = 0.999f;
    float factor(float) const { return 2.0f; }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own&) const {
        Vec one = splat(1.0f), edge = splat(limit);
        Vec inside = smaller(edge, x);
        Vec inverse = reciprocal(one + inside);
        return {(one - inside) * inverse, x < edge ? inverse * inverse : splat(0.0f)};
    }
};

struct Value {
    double value, slope;
};

// One number at a time, as hale/engine/activations.py has it.
inline Value activate(int32_t activation, double beta, double gamma, double x) {
    switch (activation) {
        case kHanon: {
            const double place = beta * (x - 0.5) - std::log(gamma);
            const double share = 1 / (1 + std::exp(-place)), rest = 1 / (1 + std::exp(place));
            return {gamma * share, beta * gamma * share * rest};
        }
        case kHalin: {
            const double uncut = x < 1 ? 2 * x : beta * (x - 1) + 2;
            return {std::min(uncut, gamma), uncut >= gamma ? 0.0 : x < 1 ? 2.0 : beta};
        }
        case kXExp: {
            const double grown = std::exp(std::min<double>(x, XExp::limit));
            return {x * grown, x < XExp::limit ? grown * (1 + x) : grown};
        }
        case kDouble:
            return {2 * x, 2.0};
        case kArctanh: {
            const double inside = std::min<double>(x, Arctanh::limit);
            return {2 * std::atanh(inside),
                    x < Arctanh::limit ? 2 / (1 - inside * inside) : 0.0};
        }
        default:
            return {x, 1.0};
    }
}

}  // namespace
