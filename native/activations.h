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

// Two of a free shape. They are bounded by gamma; under a bound that exp() has no room for, they
// are weighed above their floor.
template <bool Safe>
struct Sigmoid {
    static constexpr bool bounded = Safe;
    float shift, slope, least;  // the last: the share of gamma where it begins
    explicit Sigmoid(const float* shape) : shift(shape[0]), slope(shape[1]), least(shape[2]) {}
    float factor(float gamma) const { return gamma * slope * (1 - least); }
    ALWAYS_INLINE Vec odds(Vec x) const {
        Vec y = (splat(shift) - x) * splat(slope * kLog2e);
        return exp2(smaller(splat(kMaxPower), larger(splat(-kMaxPower), y)));
    }
    ALWAYS_INLINE Vec risen(Vec share, const Own& own) const {
        return (share * splat(1 - least) + splat(least)) * own.gamma;
    }
    ALWAYS_INLINE Vec value(Vec x, const Own& own) const {
        return risen(reciprocal(odds(x) + splat(1.0f)), own);
    }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec u = odds(x), share = reciprocal(u + splat(1.0f));
        Vec w = above(risen(share, own), own.floor);
        return {w, w * (share * (u * share))};
    }
};

constexpr int kKnots = 8;

template <bool Safe>
struct Spline {
    static constexpr bool bounded = Safe;
    const float* shape;  // pieces a unit of x, and what each of them rises
    explicit Spline(const float* given) : shape(given) {}
    float factor(float gamma) const { return gamma * shape[0]; }
    ALWAYS_INLINE Vec value(Vec x, const Own& own) const {
        Vec place = x * splat(shape[0]), sum = splat(0.0f);
        UNROLL for (int k = 0; k < kKnots; ++k) {
            Vec part = larger(splat(0.0f), place - splat(float(k)));
            sum = sum + splat(shape[1 + k]) * smaller(splat(1.0f), part);
        }
        return sum * own.gamma;
    }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec place = x * splat(shape[0]), slope = splat(0.0f);
        UNROLL for (int k = 0; k < kKnots; ++k) {
            Vec begun = place < splat(float(k)) ? slope : splat(shape[1 + k]);
            slope = begun;
        }
        slope = place < splat(float(kKnots)) ? slope : splat(0.0f);
        Vec w = above(value(x, own), own.floor);
        return {w, w * slope};
    }
};

struct Value {
    double value, slope;
};

// One number at a time, as hale/engine/activations.py and shapes.py have it.
inline Value activate(int32_t activation, double beta, double gamma, const float* shape,
                      double x) {
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
        case kSigmoid: {
            const double place = shape[1] * (x - shape[0]), rest = 1 - double(shape[2]);
            const double share = 1 / (1 + std::exp(-place)), other = 1 / (1 + std::exp(place));
            return {gamma * (shape[2] + rest * share), gamma * shape[1] * rest * share * other};
        }
        case kSpline: {
            const double place = shape[0] * x;
            double value = 0, slope = 0;
            for (int k = 0; k < kKnots; ++k) {
                value += shape[1 + k] * std::min(1.0, std::max(0.0, place - k));
                if (place >= k && place < k + 1) slope = shape[1 + k];
            }
            return {gamma * value, gamma * shape[0] * slope};
        }
        default:
            return {x, 1.0};
    }
}

}  // namespace
