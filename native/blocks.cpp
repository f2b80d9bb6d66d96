// Blocks of entities: which a step draws, and where others stand in it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common.h"
#include "mix.h"
#include "problems.h"
#include "radix.h"

namespace {

constexpr int kRounds = 6;

// A permutation of 0 .. n - 1 by a key: a Feistel network over the bits of n - 1, walked until it
// is below n. hale/engine/permutation.py has the same in numpy and says why.
class Permutation {
   public:
    Permutation(int64_t count, const uint32_t* round_keys) : n(count), keys(round_keys) {
        while ((int64_t(1) << bits) < n) ++bits;
        low = bits / 2;
        low_mask = (uint32_t(1) << low) - 1;
        high_mask = static_cast<uint32_t>((uint64_t(1) << (bits - low)) - 1);
    }

    // The numbers at `count` places from `start`.
    std::vector<uint32_t> from(int64_t start, int64_t count) const {
        std::vector<uint32_t> found(count), waiting(count), walked;
        for (int64_t i = 0; i < count; ++i) waiting[i] = static_cast<uint32_t>(start + i);
        found.clear();
        while (!waiting.empty()) {  // those that are not below n go on
            walked.resize(waiting.size());
            once(waiting.data(), waiting.size(), walked.data());
            waiting.clear();
            for (uint32_t number : walked) (number < n ? found : waiting).push_back(number);
        }
        return found;
    }

   private:
    void once(const uint32_t* places, size_t count, uint32_t* to) const {
        const uint32_t lows = low_mask, highs = high_mask, shift = low;
        uint32_t key[kRounds];
        std::copy(keys, keys + kRounds, key);
#pragma omp simd
        for (size_t i = 0; i < count; ++i) {
            uint32_t right = places[i] & lows, left = places[i] >> shift;
            for (int round = 0; round < kRounds; round += 2) {
                left ^= mix(right ^ key[round]) & highs;
                right ^= mix(left ^ key[round + 1]) & lows;
            }
            to[i] = (left << shift) | right;
        }
    }

    const int64_t n;
    const uint32_t* keys;
    int bits = 0, low = 0;
    uint32_t low_mask = 0, high_mask = 0;
};

void draw(const Draw& ask) {
    const Permutation permute(ask.n, ask.keys);
    std::vector<uint32_t> ids = permute.from(ask.start, ask.s);
    sort_by(ids, [](uint32_t id) { return id; });
    std::copy(ids.begin(), ids.end(), ask.ids);
}

// Places of ids in a block, by a table of four times its size.
class Places {
   public:
    Places(const int64_t* ids, int64_t count) {
        while ((int64_t(1) << bits) < 4 * count) ++bits;
        slots.assign(size_t(1) << bits, Slot{-1, -1});
        for (int64_t i = 0; i < count; ++i) {
            size_t at = first(ids[i]);
            while (slots[at].id >= 0) at = (at + 1) & (slots.size() - 1);
            slots[at] = {ids[i], i};
        }
    }

    int64_t of(int64_t id) const {
        size_t at = first(id);
        while (slots[at].id >= 0 && slots[at].id != id) at = (at + 1) & (slots.size() - 1);
        return slots[at].place;
    }

   private:
    struct Slot {
        int64_t id, place;
    };
    size_t first(int64_t id) const { return mix(uint32_t(id)) >> (32 - bits); }

    int bits = 2;
    std::vector<Slot> slots;
};

constexpr int64_t kManyTimes = 8;

// The first of ascending numbers that is not below one, looked for from the front in strides that
// double: it is not far.
const int32_t* first_not_below(const int32_t* from, const int32_t* to, int32_t number) {
    int64_t stride = 1;
    while (stride < to - from && from[stride] < number) stride *= 2;
    return std::lower_bound(from + stride / 2, std::min(to, from + stride + 1), number);
}

// What one query leaves out: its known answers and, where it is ruled out, its head.
void leave(const Leave& ask, const Places& places, int64_t i, int64_t& written) {
    const auto put_place = [&](int64_t place) {
        if (written++ < ask.room) ask.places[written - 1] = place;
    };
    const auto put = [&](int64_t entity) {
        const int64_t place = places.of(entity);
        if (place >= 0) put_place(place);
        ++ask.counts[i];
    };
    const int64_t head = ask.heads[i], key = head * ask.width + ask.relations[i];
    const int64_t* end = ask.keys + ask.known;
    const int64_t* found = std::lower_bound(ask.keys, end, key);
    bool waiting = ask.ruled_out && ask.ruled_out[i];
    if (found != end && *found == key) {
        const int32_t* from = ask.answers + ask.offsets[found - ask.keys];
        const int32_t* to = ask.answers + ask.offsets[found - ask.keys + 1];
        if (to - from > kManyTimes * ask.s) {
            // Far more answers than entities in the block: these are looked for among those.
            const bool known = std::binary_search(from, to, int32_t(head));
            ask.counts[i] = to - from + (waiting && !known);
            const int32_t* at = from;
            for (int64_t place = 0; place < ask.s; ++place) {
                const int64_t entity = ask.block[place];
                at = first_not_below(at, to, static_cast<int32_t>(entity));
                if ((at != to && *at == entity) || (waiting && entity == head)) put_place(place);
            }
            return;
        }
        for (int32_t at = ask.offsets[found - ask.keys]; at < ask.offsets[found - ask.keys + 1];
             ++at) {
            if (waiting && ask.answers[at] >= head) {
                if (ask.answers[at] > head) put(head);
                waiting = false;
            }
            put(ask.answers[at]);
        }
    }
    if (waiting) put(head);
}

}  // namespace

HALE_EXPORT int32_t hale_leave(const Leave* ask) {
    return told([&] {
        const Places places(ask->block, ask->s);
        int64_t written = 0;
        for (int64_t i = 0; i < ask->m; ++i) {
            ask->begins[i] = written;
            ask->counts[i] = 0;
            leave(*ask, places, i, written);
        }
        ask->begins[ask->m] = written;
    });
}

HALE_EXPORT int32_t hale_draw_block(const Draw* ask) {
    return told([&] { draw(*ask); });
}

HALE_EXPORT int32_t hale_places(const Find* ask) {
    return told([&] {
        const Places places(ask->block, ask->s);
        for (int64_t i = 0; i < ask->count; ++i) ask->places[i] = places.of(ask->wanted[i]);
    });
}
