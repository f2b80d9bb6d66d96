// What all threads of a sweep share: the queries as the register blocks read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "activations.h"
#include "memory.h"
#include "problems.h"
#include "vectors.h"

namespace {

// Whether the last of d dimensions would be alone in its vector, as an entity's height often is.
inline bool is_lone(int64_t d) { return d > 1 && d % kLanes == 1; }

inline int64_t padded(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// Queries in whole vectors, and no fewer than the rows of a register block.
inline int64_t padded_queries(int64_t m) { return std::max(padded(m), padded(rows_for(1))); }

// Chunks of so many tiles: at least four tiles each, as many as 64 threads could share, fewer where
// the sums of one are large.
inline int64_t chunks_of(int64_t tiles, int64_t sums) {
    const int64_t most = std::clamp<int64_t>((int64_t(1) << 19) / std::max<int64_t>(1, sums), 16, 64);
    return std::clamp<int64_t>(tiles / 4, 1, most);
}

struct Shared {
    const Uniformity& ask;
    int64_t mp;         // m in whole vectors, at least as many as a register block has rows
    int64_t dp;         // d in whole vectors, without a lone dimension
    bool lone;          // whether the last dimension would take a vector by itself: it goes apart
    int64_t pull_rows;  // m, and what the last register block may reach beyond
    Floats turned;   // (d, mp)  -2 c_i q_i, transposed
    Floats scale;    // (mp,)    c_i
    Floats norms;    // (mp,)    c_i |q_i|^2
    Floats floor;    // (mp,)    h at the nearest entity, for unbounded activations
    Floats gammas;   // (mp,)    bounds; of lanes without a query one
    Floats middles;  // (mp,)    where Hanon is halfway up
    Floats push;     // (mp, dp) s_i q_i
    Floats lone_push;  // (mp,) s_i q_i of a lone dimension
    Floats push_by;  // (mp,)    s_i = 2 factor ratio share c_i / Z_i

    // The entities in tiles, and the tiles in chunks. How many depends on the problem alone, and
    // each chunk has sums of its own that meet in the order of the chunks: so the number of threads,
    // of which each takes some chunks, changes no bit of the result.
    const int64_t* begins;
    int64_t tiles, chunks;
    Floats pull;                // (chunks, pull_rows, dp) sums of g e
    Floats lone_pull;           // (chunks, mp) the same of a lone dimension
    std::vector<double> mass;   // (chunks, 3, mp) sums of w, g, g x

    // With `firsts`, where each of so many shards begins and the last one ends, these are the chunks.
    explicit Shared(const Uniformity& problem, const int64_t* firsts = nullptr, int64_t shards = 0)
        : ask(problem),
          mp(padded_queries(problem.m)),
          dp(padded(is_lone(problem.d) ? problem.d - 1 : problem.d)),
          lone(is_lone(problem.d)),
          pull_rows(problem.m + kMaxRows - 1),
          turned(problem.d * mp),
          scale(mp),
          norms(mp),
          floor(mp),
          gammas(mp),
          middles(mp),
          push(mp * dp),
          lone_push(mp),
          push_by(mp),
          begins(firsts),
          tiles((problem.n + kTile - 1) / kTile),
          chunks(firsts ? shards : chunks_of(tiles, mp * dp)),
          pull(problem.workspace ? chunks * pull_rows * dp : 0),
          lone_pull(chunks * mp),
          mass(chunks * 3 * mp) {
        gammas.fill(1.0f);
        for (int64_t i = 0; i < ask.m; ++i) {
            gammas[i] = ask.gammas[i];
            middles[i] = middle_of(ask.beta, ask.gammas[i]);
            const float* q = ask.queries + i * ask.d;
            double norm = 0;
            for (int64_t k = 0; k < ask.d; ++k) {
                norm += double(q[k]) * q[k];
                turned[k * mp + i] = -2 * ask.scale[i] * q[k];
            }
            scale[i] = ask.scale[i];
            norms[i] = static_cast<float>(ask.scale[i] * norm);
        }
    }

    int64_t first_of(int64_t chunk) const {
        if (begins) return begins[chunk];
        return std::min(ask.n, tiles * chunk / chunks * kTile);
    }

    ALWAYS_INLINE Own own(int64_t lane) const {
        return {load(&floor[lane]), load(&gammas[lane]), load(&middles[lane])};
    }

    // Queries taken together: as many as fit the registers, and the first-level cache with all
    // their dimensions.
    int64_t query_vectors() const {
        constexpr int64_t cache = 32 << 10;
        const int64_t fit = cache / (ask.d * kLanes * int64_t(sizeof(float)));
        return std::max<int64_t>(1, std::min<int64_t>(kMaxQueryVectors, fit));
    }
};

}  // namespace
