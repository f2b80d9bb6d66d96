// Sorting by whole numbers below 2^32, digit by digit; equal ones keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

template <class T, class Key>
void sort_by(std::vector<T>& items, Key key) {
    constexpr int kBits = 11, kBuckets = 1 << kBits;
    uint32_t most = 0;
    for (const T& item : items) most |= key(item);
    std::vector<T> other(items.size());
    for (int shift = 0; shift < 32 && (most >> shift) > 0; shift += kBits) {
        const auto digit = [&](const T& item) { return (key(item) >> shift) & (kBuckets - 1); };
        size_t begins[kBuckets + 1] = {};
        for (const T& item : items) ++begins[digit(item) + 1];
        for (int bucket = 0; bucket < kBuckets; ++bucket) begins[bucket + 1] += begins[bucket];
        for (const T& item : items) other[begins[digit(item)]++] = item;
        items.swap(other);
    }
}

}  // namespace
