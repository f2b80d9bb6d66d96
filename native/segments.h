// Rows of a batch by their relation, cut into parts that are summed up by themselves.
//
// A relation's segments meet in their order, so any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

// Rows of one relation, at most kSegment of them.
struct Segment {
    int64_t relation, first, last;  // of the rows in the order of their relations
};

constexpr int64_t kSegment = 256;

class Segments {
   public:
    Segments(const int64_t* which, int64_t b, int64_t relations) : begins(relations + 1), order(b) {
        for (int64_t i = 0; i < b; ++i) ++begins[which[i] + 1];
        for (int64_t r = 0; r < relations; ++r) begins[r + 1] += begins[r];
        std::vector<int64_t> next(begins.begin(), begins.end() - 1);
        for (int64_t i = 0; i < b; ++i) order[next[which[i]]++] = i;
        for (int64_t r = 0; r < relations; ++r) {
            firsts.push_back(all.size());
            for (int64_t from = begins[r]; from < begins[r + 1]; from += kSegment) {
                all.push_back({r, from, std::min(from + kSegment, begins[r + 1])});
            }
        }
        firsts.push_back(all.size());
    }

   private:
    std::vector<int64_t> begins;

   public:
    std::vector<int64_t> order;   // (b,) rows, by relation
    std::vector<Segment> all;
    std::vector<int64_t> firsts;  // (relations + 1,) where a relation's segments begin
};

}  // namespace
