// Where targets stand among all entities: how many candidates score higher, and how many no lower.
//
// s_ij = own_i + b_j + <q_i, e_j>  or, by distance,  own_i + b_j + 2 <q_i, e_j> - |e_j|^2, where
// own_i holds -|q_i|^2. Vector lanes run along the queries. A tile of entities meets all queries, a
// panel of them at a time, in a block of registers; scores are counted there and never written.
//
// A score is the same bits wherever it is computed, so that a target is equal to itself and to
// entities with its vector: it starts from own_i + (b_j - |e_j|^2) and adds the products in the
// order of the dimensions, each by `fused`. Counts are whole numbers, so threads change nothing.
//
// Where entities are marked, those meet another threshold of the same query.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "fused.h"
#include "memory.h"
#include "problems.h"

namespace {

// What an entity's scores have in common: b_j, less |e_j|^2 by distance.
ALWAYS_INLINE float shared_by(const float* entities, const float* biases, bool by_distance,
                              int64_t d, int64_t j) {
    const float bias = biases ? biases[j] : 0.0f;
    return by_distance ? bias - square_of(entities + j * d, d) : bias;
}

// The queries as the register blocks read them: panels of vectors, dimension after dimension.
struct Panels {
    const Ranks& ask;
    const int64_t vectors;  // of queries
    const float factor;     // 2 by distance: exact
    Floats queries;         // panel after panel, each (d, its vectors)
    Floats own;             // (vectors,)
    Floats thresholds;      // (vectors,)
    Floats marked;          // (vectors,) or empty

    explicit Panels(const Ranks& problem)
        : ask(problem),
          vectors((problem.m + kLanes - 1) / kLanes),
          factor(problem.by_distance ? 2.0f : 1.0f),
          queries(vectors * kLanes * problem.d),
          own(vectors * kLanes),
          thresholds(vectors * kLanes),
          marked(problem.marks ? vectors * kLanes : 0) {
        if (ask.marks) std::copy(ask.marked, ask.marked + ask.m, marked.begin());
        std::copy(ask.own, ask.own + ask.m, own.begin());
        std::copy(ask.thresholds, ask.thresholds + ask.m, thresholds.begin());
        for (int64_t first = 0; first < vectors; first += width()) {
            const int64_t lanes = std::min(width(), vectors - first) * kLanes;
            float* panel = at(first);
            for (int64_t i = first * kLanes; i < std::min(ask.m, first * kLanes + lanes); ++i) {
                for (int64_t k = 0; k < ask.d; ++k) {
                    panel[k * lanes + i - first * kLanes] = factor * ask.queries[i * ask.d + k];
                }
            }
        }
    }

    float* at(int64_t first) { return queries.begin() + first * kLanes * ask.d; }

    // Vectors of a panel: as many as the registers take, and half of the first-level cache.
    int64_t width() const {
        constexpr int64_t cache = 16 << 10;
        const int64_t fit = cache / (ask.d * kLanes * int64_t(sizeof(float)));
        return std::max<int64_t>(1, std::min<int64_t>(kMaxDimVectors, fit));
    }
};

// One thread's count over its range of entities.
class Counter {
   public:
    explicit Counter(Panels& panels)
        : all(panels),
          ask(panels.ask),
          counts(2 * panels.vectors),
          strange(panels.vectors) {}

    void count(int64_t begin, int64_t end) {
        for (int64_t start = begin; start < end; start += kTile) {
            const int64_t rows = std::min<int64_t>(kTile, end - start);
            for (int64_t j = 0; j < rows; ++j) {
                base[j] =
                    shared_by(ask.entities, ask.biases, ask.by_distance, ask.d, start + j);
                limits[j] = ask.marks && ask.marks[start + j] ? all.marked.begin()
                                                              : all.thresholds.begin();
            }
            for (int64_t first = 0; first < all.vectors; first += all.width()) {
                const int64_t vectors = std::min(all.width(), all.vectors - first);
                panel<kMaxDimVectors>(first, vectors, start, rows);
            }
        }
    }

    // How many lanes hold a query: the others count what is never read.
    int64_t higher(int64_t i) const { return -int64_t(counts[i / kLanes * 2][i % kLanes]); }
    int64_t no_lower(int64_t i) const { return -int64_t(counts[i / kLanes * 2 + 1][i % kLanes]); }
    bool finite(int64_t i) const { return strange[i / kLanes][i % kLanes] == 0.0f; }

   private:
    template <int V>
    void panel(int64_t first, int64_t vectors, int64_t start, int64_t rows) {
        if constexpr (V > 1) {
            if (vectors < V) return panel<V - 1>(first, vectors, start, rows);
        }
        constexpr int R = rows_for(V);
        int64_t j = 0;
        for (; j + R <= rows; j += R) block<R, V>(first, start, j);
        for (; j < rows; ++j) block<1, V>(first, start, j);
    }

    // R entities against V vectors of queries.
    template <int R, int V>
    ALWAYS_INLINE void block(int64_t first, int64_t start, int64_t j) {
        const int64_t d = ask.d;
        const float *e = ask.entities + (start + j) * d, *q = all.at(first);
        Vec acc[R][V];
        UNROLL for (int v = 0; v < V; ++v) {
            const Vec own = load(&all.own[(first + v) * kLanes]);
            UNROLL for (int r = 0; r < R; ++r) acc[r][v] = own + splat(base[j + r]);
        }
        for (int64_t k = 0; k < d; ++k) {
            Vec right[V];
            UNROLL for (int v = 0; v < V; ++v) right[v] = load(q + (k * V + v) * kLanes);
            UNROLL for (int r = 0; r < R; ++r) {
                const Vec left = splat(e[r * d + k]);
                UNROLL for (int v = 0; v < V; ++v) acc[r][v] = fused(left, right[v], acc[r][v]);
            }
        }
        UNROLL for (int v = 0; v < V; ++v) {
            IVec above = counts[2 * (first + v)], beside = counts[2 * (first + v) + 1];
            Vec odd = strange[first + v];
            UNROLL for (int r = 0; r < R; ++r) {
                const Vec threshold = load(limits[j + r] + (first + v) * kLanes);
                above += acc[r][v] > threshold;  // true is -1
                beside += acc[r][v] >= threshold;
                odd = fused(acc[r][v], Vec{}, odd);  // NaN from infinity and NaN, and it stays
            }
            counts[2 * (first + v)] = above;
            counts[2 * (first + v) + 1] = beside;
            strange[first + v] = odd;
        }
    }

    Panels& all;
    const Ranks& ask;
    std::vector<IVec> counts;  // of each vector of queries: minus those above, and not below
    std::vector<Vec> strange;  // of each vector of queries: 0, or NaN once a score was not finite
    float base[kTile];
    const float* limits[kTile];  // which thresholds an entity of the tile meets
};

void count_above(const Ranks& ask) {
    Panels all(ask);
    const int64_t tiles = (ask.n + kTile - 1) / kTile;
    const int asked = static_cast<int>(std::min<int64_t>(std::max(1, ask.threads), tiles));
    std::fill(ask.higher, ask.higher + ask.m, 0);
    std::fill(ask.no_lower, ask.no_lower + ask.m, 0);
    std::fill(ask.finite, ask.finite + ask.m, 1);
    Trouble trouble;
#pragma omp parallel num_threads(std::max(1, asked))
    {
        const FlushSmall flush;
        const int64_t count = omp_get_num_threads(), mine = omp_get_thread_num();
        trouble.in([&] {
            Counter counter(all);
            counter.count(std::min(ask.n, tiles * mine / count * kTile),
                          std::min(ask.n, tiles * (mine + 1) / count * kTile));
#pragma omp critical
            for (int64_t i = 0; i < ask.m; ++i) {
                ask.higher[i] += counter.higher(i);
                ask.no_lower[i] += counter.no_lower(i);
                ask.finite[i] &= counter.finite(i);
            }
        });
    }
    trouble.check();
}

// G pairs at once: a chain of sums waits for itself, several do not wait for each other.
template <int G>
ALWAYS_INLINE void score(const Pairs& ask, int64_t from) {
    const int64_t d = ask.d;
    const float factor = ask.by_distance ? 2.0f : 1.0f;
    const float *q[G], *e[G];
    float acc[G];
    UNROLL for (int g = 0; g < G; ++g) {
        const int64_t i = ask.rows[from + g], j = ask.columns[from + g];
        q[g] = ask.queries + i * d;
        e[g] = ask.entities + j * d;
        acc[g] = ask.own[i] + shared_by(ask.entities, ask.biases, ask.by_distance, d, j);
    }
    for (int64_t k = 0; k < d; ++k) {
        UNROLL for (int g = 0; g < G; ++g) acc[g] = fused(e[g][k], factor * q[g][k], acc[g]);
    }
    UNROLL for (int g = 0; g < G; ++g) ask.scores[from + g] = acc[g];
}

void score_pairs(const Pairs& ask) {
    constexpr int kGroup = 8;
    const int64_t groups = ask.count / kGroup;
#pragma omp parallel num_threads(std::max(1, ask.threads))
    {
        const FlushSmall flush;
#pragma omp for schedule(static)
        for (int64_t group = 0; group < groups; ++group) score<kGroup>(ask, group * kGroup);
#pragma omp single
        for (int64_t at = groups * kGroup; at < ask.count; ++at) score<1>(ask, at);
    }
}

}  // namespace

HALE_EXPORT int32_t hale_count_above(const Ranks* ask) {
    return told([&] { count_above(*ask); });
}

HALE_EXPORT int32_t hale_score_pairs(const Pairs* ask) {
    return told([&] { score_pairs(*ask); });
}
