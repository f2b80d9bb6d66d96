// What random calls are made of: numbers, ids, and the comparison of one thread with several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../problems.h"

inline std::mt19937_64 draws;
using Floats = std::vector<float>;
using Ids = std::vector<int64_t>;

inline int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(draws);
}
inline bool now_and_then() { return between(0, 2) == 0; }

inline Floats numbers(int64_t count, float size = 1.0f) {
    std::normal_distribution<float> normal(0.0f, size);
    Floats found(count);
    for (float& x : found) x = normal(draws);
    return found;
}
inline Floats positive(int64_t count, float most) {
    std::uniform_real_distribution<float> uniform(0.1f, most);
    Floats found(count);
    for (float& x : found) x = uniform(draws);
    return found;
}
inline Ids ids(int64_t count, int64_t below) {
    Ids found(count);
    for (int64_t& id : found) id = between(0, below - 1);
    return found;
}
inline Ids ascending(int64_t count, int64_t below) {
    std::set<int64_t> found;
    while (static_cast<int64_t>(found.size()) < std::min(count, below)) {
        found.insert(between(0, below - 1));
    }
    return Ids(found.begin(), found.end());
}

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

// What a call writes, as bytes.
struct Written {
    std::string bytes;
    template <class T>
    void add(const std::vector<T>& values) {
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    }
};

// The same call on one thread and on several.
inline void compare(const char* name, const std::function<Written(int32_t)>& call) {
    const int32_t threads = static_cast<int32_t>(between(2, 5));
    if (call(1).bytes != call(threads).bytes) {
        fail(std::string(name) + ": other bits on " + std::to_string(threads) + " threads");
    }
}
inline void done(const char* name, int32_t status) {
    if (status) fail(std::string(name) + ": status " + std::to_string(status));
}

inline Floats shape_of(int32_t activation) {
    if (activation == kSigmoid) return {1.1f, 2.5f, 0.2f};
    if (activation == kSpline) return {3.0f, 0.1f, 0.0f, 0.4f, 1.0f, 0.7f, 0.2f, 0.1f, 0.3f};
    return {0.0f};
}
