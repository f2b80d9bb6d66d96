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

// Where calls get their sizes and choices: from a generator, or from the bytes of a fuzzer as long as
// those last, two a draw. Numbers that a call computes with always come from the generator.
class Draws {
  public:
    using result_type = uint64_t;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return UINT64_MAX; }

    std::mt19937_64 random;

    void seed(uint64_t number) { random.seed(number); }
    void follow(const uint8_t* bytes, size_t size) {
        random.seed(size);
        next_ = bytes;
        end_ = bytes + size;
    }
    result_type operator()() {
        if (end_ - next_ < 2) return random();
        const uint64_t two = static_cast<uint64_t>(next_[0]) << 8 | next_[1];
        next_ += 2;
        return two * 0x0001000100010001u;  // spread over all of its bits
    }

  private:
    const uint8_t *next_ = nullptr, *end_ = nullptr;
};

inline Draws draws;
using Floats = std::vector<float>;
using Ids = std::vector<int64_t>;

inline int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(draws);
}
inline bool now_and_then() { return between(0, 2) == 0; }

inline Floats numbers(int64_t count, float size = 1.0f) {
    std::normal_distribution<float> normal(0.0f, size);
    Floats found(count);
    for (float& x : found) x = normal(draws.random);
    return found;
}
inline Floats positive(int64_t count, float most) {
    std::uniform_real_distribution<float> uniform(0.1f, most);
    Floats found(count);
    for (float& x : found) x = uniform(draws.random);
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
