// Which activation a sweep is asked for, and whether its weights need a floor.
#pragma once

#include <algorithm>

#include "activations.h"
#include "problems.h"

namespace {

// body(h) with the activation of a problem.
template <class Body>
void visit(const Uniformity& ask, Body&& body) {
    constexpr float kSafeBound = 60.0f;  // exp(-60) is far from the smallest float
    const float bound = *std::max_element(ask.gammas, ask.gammas + ask.m);
    switch (ask.activation) {
        case kHanon: {
            if (bound <= kSafeBound && middle_of(ask.beta, bound) <= kMaxPower) {
                return body(Hanon{ask.beta});
            }
            return body(SteepHanon{ask.beta});
        }
        case kHalin:
            return body(Halin{ask.beta});
        case kXExp:
            return body(XExp{});
        case kDouble:
            return body(Linear{2.0f});
        case kArctanh:
            return body(Arctanh{});
        case kSigmoid:
            if (bound <= kSafeBound) return body(Sigmoid<true>{ask.shape});
            return body(Sigmoid<false>{ask.shape});
        case kSpline:
            if (bound <= kSafeBound) return body(Spline<true>{ask.shape});
            return body(Spline<false>{ask.shape});
        default:
            return body(Linear{1.0f});
    }
}

}  // namespace
