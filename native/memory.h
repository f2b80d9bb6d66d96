// Memory of a sweep, and how small numbers in it are taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

namespace {

// Zeroed floats on a cache line's boundary: a vector that straddles two lines costs two loads.
class Floats {
   public:
    explicit Floats(int64_t count)
        : size(static_cast<size_t>(count)),
          data(static_cast<float*>(::operator new(size * sizeof(float), kLine))) {
        fill(0.0f);
    }
    ~Floats() { ::operator delete(data, kLine); }
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;

    float& operator[](int64_t i) { return data[i]; }
    const float& operator[](int64_t i) const { return data[i]; }
    float* begin() { return data; }
    float* end() { return data + size; }
    void fill(float value) { std::fill(begin(), end(), value); }

   private:
    static constexpr std::align_val_t kLine{64};
    size_t size;
    float* data;
};

// Numbers too small for a normal float count as zero while this lives: as denormals they would
// slow the products down a hundredfold, and they change nothing that is summed.
class FlushSmall {
#if defined(__x86_64__)
   public:
    FlushSmall() : before(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(before | 0x8040); }
    ~FlushSmall() { __builtin_ia32_ldmxcsr(before); }

   private:
    unsigned before;
#else
   public:
    FlushSmall() {}
    ~FlushSmall() {}
#endif
};

}  // namespace
