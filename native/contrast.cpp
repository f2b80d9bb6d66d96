// The two terms of the HaLE loss, values and gradients, with a plain C interface.
//
// Uniformity, which takes nearly all the time, comes first, alignment at the end.
//
// x_ij = c_i |q_i - e_j|^2,  w_ij = exp(-h(x_ij)),  Z_i = sum_j w_ij,  g_ij = w_ij h'(x_ij).
// The value is the mean of log Z_i; hale/engine/tiles.py derives the gradients and is the
// reference. This file is compiled once per instruction set, each build into a library of its
// own, so that no code for a newer processor can leak into an older one's.
//
// Vector lanes run along the queries where distances and activations are computed, and along the
// dimensions where vectors are summed, so entities are read as they lie in memory. All three
// products (distances, pull on the queries, push on the entities) are the same small block of
// registers, `multiply`. A last dimension that would be alone in its vector, as an entity's height
// often is, goes apart: its sums run along the queries. Each thread owns a range of entities, split
// by its number alone, so the same number of threads gives the same bits.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "common.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace {

#define UNROLL _Pragma("GCC unroll 16")

// ---- what a sweep is asked for, and gives back ---------------------------------------------

enum Activation : int32_t { kHanon, kHalin, kXExp, kDouble, kArctanh, kIdentity };

struct Problem {
    int64_t m, n, d;         // queries, entities, dimensions
    const float* queries;    // (m, d)
    const float* entities;   // (n, d)
    const float* scale;      // (m,)
    int32_t activation;
    float beta;
    const float* gammas;      // (m,) the bound of the activation, for each query its own
    const int64_t* left_out;  // entities left out, query by query, ascending for each
    const int64_t* left_from;  // (m + 1,) where those of a query begin
    float share;                 // weight of each query in the value: 1 / number of all queries
    int32_t add;                 // add to by_entity instead of writing it
    int32_t threads;
    float* workspace;  // workspace_size() floats, or null when no gradients are wanted
    double* logs;      // (m,)   log Z_i
    float* by_query;   // (m, d)
    float* by_entity;  // (n, d)
    float* by_scale;   // (m,)
};

// ---- vectors -------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kMaxQueryVectors = 7, kMaxDimVectors = 4;
#elif defined(__AVX__)
constexpr int kLanes = 8;
constexpr int kMaxQueryVectors = 3, kMaxDimVectors = 3;
#else
constexpr int kLanes = 4;
constexpr int kMaxQueryVectors = 3, kMaxDimVectors = 3;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef int32_t IVec __attribute__((vector_size(kLanes * 4)));

// Rows of a register block of V vectors: as many as the registers hold.
constexpr int rows_for(int vectors) {
    constexpr int wide[] = {0, 12, 12, 8, 6, 5, 4, 3}, narrow[] = {0, 8, 6, 4};
    return kLanes == 16 ? wide[vectors] : narrow[vectors];
}

constexpr int kMaxRows = 12;  // the largest of rows_for()

// Entities of a tile: a multiple of every rows_for(); with its g it fits the second-level cache.
constexpr int kTile = 120;

ALWAYS_INLINE Vec splat(float x) { return x - Vec{}; }  // minus zero: exact, so it folds away

ALWAYS_INLINE Vec load(const float* from) {
    Vec x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

ALWAYS_INLINE void store(float* to, Vec x) { std::memcpy(to, &x, sizeof x); }

// Where either is NaN, the second: a NaN among the inputs must reach the result.
#if defined(__AVX512F__)
ALWAYS_INLINE Vec smaller(Vec a, Vec b) { return (Vec)_mm512_min_ps((__m512)a, (__m512)b); }
ALWAYS_INLINE Vec larger(Vec a, Vec b) { return (Vec)_mm512_max_ps((__m512)a, (__m512)b); }
#elif defined(__AVX__)
ALWAYS_INLINE Vec smaller(Vec a, Vec b) { return (Vec)_mm256_min_ps((__m256)a, (__m256)b); }
ALWAYS_INLINE Vec larger(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
#else
ALWAYS_INLINE Vec smaller(Vec a, Vec b) { return a < b ? a : b; }
ALWAYS_INLINE Vec larger(Vec a, Vec b) { return a > b ? a : b; }
#endif

ALWAYS_INLINE float sum(Vec x) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)x);
#else
    float total = 0;
    for (int i = 0; i < kLanes; ++i) total += x[i];
    return total;
#endif
}

// Hold a vector in a register as it is: the compiler neither loads it anew for every use nor fuses
// what made it into what uses it.
ALWAYS_INLINE void keep(Vec& x) {
#if defined(__AVX512F__)
    asm("" : "+v"(x));
#elif defined(__x86_64__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#else
    (void)x;
#endif
}

constexpr float kLog2e = 1.44269504088896341f;

// 2^y for -125 <= y <= 125, to 2e-7: the nearest power of two by rounding with a large constant
// and adding to the exponent bits, times a polynomial on [-1/2, 1/2].
ALWAYS_INLINE Vec exp2(Vec y) {
    const Vec magic = splat(12582912.0f);  // 1.5 * 2^23
    Vec shifted = y + magic;
    Vec f = y - (shifted - magic);
    Vec p = splat(1.33908634e-3f);
    p = p * f + splat(9.67603192e-3f);
    p = p * f + splat(5.55035711e-2f);
    p = p * f + splat(2.40221075e-1f);
    p = p * f + splat(6.93147188e-1f);
    p = p * f + splat(1.00000008f);
    return (Vec)((IVec)p + ((IVec)shifted << 23));
}

// exp(-x) for x >= 0; beyond float's range the smallest power instead of zero.
ALWAYS_INLINE Vec exp_minus(Vec x) { return exp2(larger(splat(-125.0f), x * splat(-kLog2e))); }

ALWAYS_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
    Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);
    return guess * (splat(2.0f) - x * guess);
#else
    return splat(1.0f) / x;
#endif
}

// ---- activations: w = exp(floor - h(x)) and g = w h'(x) / factor(gamma) ---------------------

struct Weighed {
    Vec w, g;
};

// What the queries of a vector have of their own.
struct Own {
    Vec floor;   // h at the nearest entity, where the activation is not bounded
    Vec gamma;   // the bound
    Vec middle;  // (beta / 2 + ln gamma) log2(e), where Hanon is halfway up
};

float middle_of(float beta, float gamma) { return (beta * 0.5f + std::log(gamma)) * kLog2e; }

// Hanon: gamma times a sigmoid. Bounded by gamma, it needs no floor: exp(-h) stays in range.
struct Hanon {
    static constexpr bool bounded = true;
    float beta, steepness;  // beta, beta log2(e)
    explicit Hanon(float b) : beta(b), steepness(b * kLog2e) {}
    float factor(float gamma) const { return beta * gamma; }
    ALWAYS_INLINE Weighed weigh(Vec x, const Own& own) const {
        Vec y = larger(splat(-125.0f), own.middle - x * splat(steepness));
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

// A Hanon whose bound is beyond exp()'s range.
struct SteepHanon {
    static constexpr bool bounded = false;
    float beta, steepness;
    explicit SteepHanon(float b) : beta(b), steepness(b * kLog2e) {}
    float factor(float) const { return beta; }
    ALWAYS_INLINE Vec odds(Vec x, const Own& own) const {
        Vec y = larger(splat(-125.0f), own.middle - x * splat(steepness));
        return exp2(smaller(splat(125.0f), y));
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

// ---- memory --------------------------------------------------------------------------------

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

// ---- the register block --------------------------------------------------------------------

// acc[r][v] += sum_k a[r * row + k * step] * b[k * width + v * lanes ...]
template <int R, int V>
ALWAYS_INLINE void multiply(Vec (&acc)[R][V], int64_t depth, const float* a, int64_t row,
                            int64_t step, const float* b, int64_t width) {
    for (int64_t k = 0; k < depth; ++k) {
        Vec right[V];
        UNROLL for (int v = 0; v < V; ++v) {
            right[v] = load(b + k * width + v * kLanes);
            if (V > 4) keep(right[v]);
        }
        UNROLL for (int r = 0; r < R; ++r) {
            Vec left = splat(a[r * row + k * step]);
            UNROLL for (int v = 0; v < V; ++v) acc[r][v] += left * right[v];
        }
    }
}

// Split `count` vectors into groups of at most `most`, as even as they go; body(first, size).
template <class Body>
ALWAYS_INLINE void in_groups(int64_t count, int64_t most, Body&& body) {
    int64_t groups = (count + most - 1) / most;
    for (int64_t i = 0; i < groups; ++i) {
        int64_t first = count * i / groups, last = count * (i + 1) / groups;
        body(first, static_cast<int>(last - first));
    }
}

// Whether the last of d dimensions would be alone in its vector, as an entity's height often is.
bool is_lone(int64_t d) { return d > 1 && d % kLanes == 1; }

int64_t padded(int64_t count, int64_t unit = kLanes) { return (count + unit - 1) / unit * unit; }

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

// ---- what all threads share ----------------------------------------------------------------

struct Shared {
    const Problem& ask;
    int64_t mp;         // m in whole vectors
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
    Floats push_by;  // (mp,)    s_i = 2 factor share c_i / Z_i

    explicit Shared(const Problem& problem)
        : ask(problem),
          mp(padded(problem.m)),
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
          push_by(mp) {
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

// ---- one thread ----------------------------------------------------------------------------

class Worker {
   public:
    static constexpr int64_t kSlack = 64;  // register blocks read a little past the last row

    Worker(Shared& shared, int64_t first, int64_t last)
        : all(shared),
          ask(shared.ask),
          begin(first),
          end(last),
          mass(3 * shared.mp),
          nearest(shared.mp),
          pull(shared.ask.by_query ? shared.pull_rows * shared.dp : 0),
          lone_pull(shared.mp),
          rows(kTile * shared.ask.d + kLanes),
          spare(kTile * shared.mp + kSlack),
          mask(kTile * shared.mp),
          sums(3 * shared.mp),
          next(shared.ask.m) {
        mask.fill(1.0f);
        nearest.fill(std::numeric_limits<float>::infinity());
    }

    // Sums over this thread's entities: w, g and g x for every query, and g e (the pull).
    template <class A>
    void gather(const A& h) {
        each_tile([&](int64_t start, int64_t count) {
            prepare(start, count);
            sums.fill(0.0f);
            float* g = count == kTile && ask.workspace ? ask.workspace + start * all.mp
                                                       : spare.begin();
            in_groups(all.mp / kLanes, all.query_vectors(), [&](int64_t first, int vectors) {
                weigh_group<kMaxQueryVectors>(h, first, vectors, g);
            });
            if (ask.workspace) {
                if (g == spare.begin()) {
                    std::memcpy(ask.workspace + start * all.mp, g, count * all.mp * sizeof(float));
                }
                in_groups(all.dp / kLanes, kMaxDimVectors, [&](int64_t first, int vectors) {
                    pull_group<kMaxDimVectors>(first, vectors, g);
                });
                if (all.lone) {
                    in_groups(all.mp / kLanes, kMaxDimVectors, [&](int64_t first, int vectors) {
                        pull_lone<kMaxDimVectors>(first * kLanes, vectors, g);
                    });
                }
            }
            for (int64_t i = 0; i < 3 * all.mp; ++i) mass[i] += sums[i];
            unmask();
        });
    }

    // The smallest x of every query over this thread's entities that are not left out.
    void find_nearest() {
        each_tile([&](int64_t start, int64_t count) {
            prepare(start, count);
            for (int64_t j = 0; j < count; ++j) {
                for (int64_t v = 0; v < all.mp; v += kLanes) {
                    Vec acc[1][1] = {{load(&all.scale[v]) * splat(norm[j]) + load(&all.norms[v])}};
                    multiply<1, 1>(acc, ask.d, tile + j * ask.d, ask.d, 1, &all.turned[v],
                                   all.mp);
                    Vec x = larger(splat(0.0f), acc[0][0]);
                    x = load(&mask[j * all.mp + v]) > splat(0.5f)
                            ? x
                            : splat(std::numeric_limits<float>::infinity());
                    store(&nearest[v], smaller(x, load(&nearest[v])));
                }
            }
            unmask();
        });
    }

    // Gradients of this thread's entities: sum_i s_i g_ij q_i - e_j sum_i s_i g_ij.
    void scatter() {
        each_tile([&](int64_t start, int64_t count) {
            fetch(start, count);
            const float* g = ask.workspace + start * all.mp;
            if (count < kTile) {
                std::memcpy(spare.begin(), g, count * all.mp * sizeof(float));
                g = spare.begin();
            }
            in_groups(all.dp / kLanes, kMaxDimVectors, [&](int64_t first, int vectors) {
                push_group<kMaxDimVectors>(first, vectors, g, start, count);
            });
        });
    }

    float pulled(int64_t i, int64_t k) const {
        return k < all.dp ? pull[i * all.dp + k] : lone_pull[i];
    }

   private:
    template <class Body>
    void each_tile(Body&& body) {
        for (int64_t i = 0; i < ask.m; ++i) {
            next[i] = std::lower_bound(ask.left_out + ask.left_from[i],
                                       ask.left_out + ask.left_from[i + 1], begin) -
                      ask.left_out;
        }
        for (int64_t start = begin; start < end; start += kTile) {
            body(start, std::min<int64_t>(kTile, end - start));
        }
    }

    // Point `tile` at the rows of a tile: in place, or copied where it is cut short or too few
    // numbers follow. The last vector of a row may reach into the next: such lanes are never part
    // of a result.
    void fetch(int64_t start, int64_t count) {
        tile = ask.entities + start * ask.d;
        if (count == kTile && (start + kTile) * ask.d + kLanes <= ask.n * ask.d) return;
        rows.fill(0.0f);
        std::memcpy(rows.begin(), tile, count * ask.d * sizeof(float));
        tile = rows.begin();
    }

    // Fetch a tile, its norms and its mask.
    void prepare(int64_t start, int64_t count) {
        fetch(start, count);
        const int64_t d = ask.d, whole = d / kLanes * kLanes;
        for (int64_t j = 0; j < kTile; ++j) {
            const float* e = tile + j * d;
            Vec total{};
            for (int64_t k = 0; k < whole; k += kLanes) {
                Vec part = load(e + k);
                total += part * part;
            }
            float rest = 0;
            for (int64_t k = whole; k < d; ++k) rest += e[k] * e[k];
            norm[j] = sum(total) + rest;
        }
        for (int64_t at = count * all.mp; at < kTile * all.mp; ++at) masked.push_back(at);
        for (int64_t i = 0; i < ask.m; ++i) {
            for (; next[i] < ask.left_from[i + 1] && ask.left_out[next[i]] < start + count;
                 ++next[i]) {
                masked.push_back((ask.left_out[next[i]] - start) * all.mp + i);
            }
        }
        for (int64_t at : masked) {
            mask[at] = 0.0f;
            masked_row[at / all.mp] = true;
        }
    }

    void unmask() {
        for (int64_t at : masked) {
            mask[at] = 1.0f;
            masked_row[at / all.mp] = false;
        }
        masked.clear();
    }

    template <int V, class A>
    void weigh_group(const A& h, int64_t first, int vectors, float* g) {
        if constexpr (V > 1) {
            if (vectors < V) return weigh_group<V - 1>(h, first, vectors, g);
        }
        weigh_rows<V>(h, first * kLanes, g);
    }

    template <int V, class A>
    __attribute__((noinline)) void weigh_rows(const A by, int64_t lane, float* __restrict g) {
        constexpr int R = rows_for(V);
        const A h = by;  // a copy on the stack: nothing that is stored can change it
        const int64_t mp = all.mp, d = ask.d;
        const float *rows_of_tile = tile, *turned = &all.turned[lane], *scale = &all.scale[lane],
                    *norms = &all.norms[lane];
        for (int64_t j = 0; j < kTile; j += R) {
            Vec acc[R][V];
            UNROLL for (int v = 0; v < V; ++v) {
                Vec c = load(scale + v * kLanes), cq = load(norms + v * kLanes);
                UNROLL for (int r = 0; r < R; ++r) acc[r][v] = c * splat(norm[j + r]) + cq;
            }
            multiply<R, V>(acc, d, rows_of_tile + j * d, d, 1, turned, mp);
            // Few entities are left out by any query, so most blocks need no mask.
            if (any_masked<R>(j)) {
                weigh_block<R, V, true>(h, acc, lane, j, g);
            } else {
                weigh_block<R, V, false>(h, acc, lane, j, g);
            }
        }
    }

    template <int R>
    ALWAYS_INLINE bool any_masked(int64_t j) const {
        bool any = false;
        UNROLL for (int r = 0; r < R; ++r) any |= masked_row[j + r];
        return any;
    }

    // From the x of R entities and V vectors of queries to their g, and what it adds to the sums.
    template <int R, int V, bool Masked, class A>
    ALWAYS_INLINE void weigh_block(const A& h, Vec (&acc)[R][V], int64_t lane, int64_t j,
                                   float* __restrict g) {
        const int64_t mp = all.mp;
        const float* masks = mask.begin() + lane;
        float* __restrict totals = sums.begin() + lane;
        g += lane;
        UNROLL for (int v = 0; v < V; ++v) {
            const int64_t at = v * kLanes;
            const Own own = all.own(lane + at);
            Vec total_w = load(totals + at), total_g = load(totals + mp + at),
                total_gx = load(totals + 2 * mp + at);
            UNROLL for (int r = 0; r < R; ++r) {
                Vec x = larger(splat(0.0f), acc[r][v]);  // rounding can go below zero
                Weighed out = h.weigh(x, own);
                if (Masked) {
                    Vec keep = load(masks + (j + r) * mp + at);
                    out.w *= keep;
                    out.g *= keep;
                }
                total_w += out.w;
                total_g += out.g;
                total_gx += out.g * x;
                store(g + (j + r) * mp + at, out.g);
            }
            store(totals + at, total_w);
            store(totals + mp + at, total_g);
            store(totals + 2 * mp + at, total_gx);
        }
    }

    template <int V>
    void pull_group(int64_t first, int vectors, const float* g) {
        if constexpr (V > 1) {
            if (vectors < V) return pull_group<V - 1>(first, vectors, g);
        }
        constexpr int R = rows_for(V);
        const int64_t lane = first * kLanes, m = ask.m, mp = all.mp, dp = all.dp, d = ask.d;
        const float* from = tile + lane;
        float* __restrict sum_of = pull.begin() + lane;  // rows beyond m take what is never read
        for (int64_t i = 0; i < m; i += R) {
            Vec acc[R][V];
            UNROLL for (int r = 0; r < R; ++r) {
                UNROLL for (int v = 0; v < V; ++v) {
                    acc[r][v] = load(sum_of + (i + r) * dp + v * kLanes);
                }
            }
            multiply<R, V>(acc, kTile, g + i, 1, mp, from, d);
            UNROLL for (int r = 0; r < R; ++r) {
                UNROLL for (int v = 0; v < V; ++v) {
                    store(sum_of + (i + r) * dp + v * kLanes, acc[r][v]);
                }
            }
        }
    }

    // What a lone dimension adds: lanes run along the queries.
    template <int V>
    void pull_lone(int64_t lane, int vectors, const float* g) {
        if constexpr (V > 1) {
            if (vectors < V) return pull_lone<V - 1>(lane, vectors, g);
        }
        Vec acc[1][V];
        UNROLL for (int v = 0; v < V; ++v) acc[0][v] = load(&lone_pull[lane + v * kLanes]);
        multiply<1, V>(acc, kTile, tile + ask.d - 1, 0, ask.d, g + lane, all.mp);
        UNROLL for (int v = 0; v < V; ++v) store(&lone_pull[lane + v * kLanes], acc[0][v]);
    }

    template <int V>
    void push_group(int64_t first, int vectors, const float* g, int64_t start, int64_t count) {
        if constexpr (V > 1) {
            if (vectors < V) return push_group<V - 1>(first, vectors, g, start, count);
        }
        constexpr int R = rows_for(V);
        const int64_t lane = first * kLanes, m = ask.m, mp = all.mp, dp = all.dp, d = ask.d;
        const float *from = tile + lane, *pushed = &all.push[lane];
        // The next tile's g lies in a farther cache: call it up while this one is worked on.
        const float* ahead = first == 0 && start + 2 * kTile <= end ? g + kTile * mp : nullptr;
        for (int64_t j = 0; j < count; j += R) {
            if (first == 0) {
                weigh_entities<R>(g + j * mp, all.push_by, norm + j);
                if (all.lone) push_lone<R>(g + j * mp, j, start, count);
            }
            Vec acc[R][V];
            UNROLL for (int r = 0; r < R; ++r) {
                UNROLL for (int v = 0; v < V; ++v) {
                    acc[r][v] = load(from + (j + r) * d + v * kLanes) * splat(-norm[j + r]);
                }
            }
            for (int64_t k = 0; ahead && k < R * mp; k += 16) {
                __builtin_prefetch(ahead + j * mp + k, 0, 2);
            }
            multiply<R, V>(acc, m, g + j * mp, mp, 1, pushed, dp);
            const int64_t left = std::min<int64_t>(R, count - j);
            UNROLL for (int r = 0; r < R; ++r) {
                if (r < left) {
                    UNROLL for (int v = 0; v < V; ++v) {
                        put(start + j + r, lane + v * kLanes, acc[r][v]);
                    }
                }
            }
        }
    }

    // A lone dimension of R entities' gradients.
    template <int R>
    ALWAYS_INLINE void push_lone(const float* g, int64_t j, int64_t start, int64_t count) {
        float pushed[R];
        weigh_entities<R>(g, all.lone_push, pushed);
        for (int64_t r = 0; r < std::min<int64_t>(R, count - j); ++r) {
            const int64_t k = ask.d - 1;
            float* to = ask.by_entity + (start + j + r) * ask.d + k;
            const float value = pushed[r] - tile[(j + r) * ask.d + k] * norm[j + r];
            *to = ask.add ? *to + value : value;
        }
    }

    // sum_i b_i g_ij for R entities.
    template <int R>
    ALWAYS_INLINE void weigh_entities(const float* g, const Floats& by, float* to) const {
        const int64_t mp = all.mp;
        Vec total[R] = {};
        for (int64_t v = 0; v < mp; v += kLanes) {
            const Vec b = load(&by[v]);
            UNROLL for (int r = 0; r < R; ++r) total[r] += load(g + r * mp + v) * b;
        }
        UNROLL for (int r = 0; r < R; ++r) to[r] = sum(total[r]);
    }

    // Write a vector of an entity's gradient; the last one of a row may be cut short.
    ALWAYS_INLINE void put(int64_t entity, int64_t lane, Vec value) {
        float* to = ask.by_entity + entity * ask.d + lane;
        const int64_t room = ask.d - lane;
        if (room >= kLanes) {
            store(to, ask.add ? load(to) + value : value);
            return;
        }
        for (int64_t k = 0; k < room; ++k) to[k] = ask.add ? to[k] + value[k] : value[k];
    }

    Shared& all;
    const Problem& ask;
    const int64_t begin, end;

   public:
    std::vector<double> mass;    // (3, mp) sums of w, g, g x
    Floats nearest;  // (mp,)

   private:
    const float* tile = nullptr;
    float norm[kTile];         // |e_j|^2 while gathering, sum_i s_i g_ij while scattering
    Floats pull;   // (pull_rows, dp)
    Floats lone_pull;  // (mp,)
    Floats rows;   // (kTile, d) a tile that had to be copied, and room for its last vector
    Floats spare;  // (kTile, mp) g of a tile cut short by the end of the range
    Floats mask;   // (kTile, mp) 1, or 0 for what is left out
    Floats sums;   // (3, mp) of one tile
    std::vector<int64_t> next;    // (m,) the next left-out entity of each query
    std::vector<int64_t> masked;  // places of the mask that are 0
    bool masked_row[kTile] = {};  // whether a row of the mask has any
};

// ---- all threads ---------------------------------------------------------------------------

template <class A>
void run(const Problem& ask, const A& h) {
    Shared all(ask);
    const int64_t tiles = (ask.n + kTile - 1) / kTile;
    const int asked = static_cast<int>(std::min<int64_t>(std::max(1, ask.threads), tiles));
    std::vector<Worker*> workers(asked, nullptr);
    int started = 1;

    const auto reduce_nearest = [&] {
        if constexpr (!A::bounded) {
            for (int64_t v = 0; v < all.mp; v += kLanes) {
                Vec least = load(&workers[0]->nearest[v]);
                for (int t = 1; t < started; ++t) {
                    least = smaller(load(&workers[t]->nearest[v]), least);
                }
                store(&all.floor[v], h.value(least, all.own(v)));
            }
        }
    };
    const auto reduce_sums = [&] {
        for (int64_t i = 0; i < ask.m; ++i) {
            double w = 0, g = 0, gx = 0;
            for (int t = 0; t < started; ++t) {
                w += workers[t]->mass[i];
                g += workers[t]->mass[all.mp + i];
                gx += workers[t]->mass[2 * all.mp + i];
            }
            // w of a NaN is not always one, but g x is.
            ask.logs[i] = std::isnan(gx) ? gx : std::log(w) - all.floor[i];
            if (!ask.workspace) continue;
            const double share = ask.share * h.factor(ask.gammas[i]) / w;
            const float s = static_cast<float>(2 * share * ask.scale[i]);
            const float* q = ask.queries + i * ask.d;
            all.push_by[i] = s;
            for (int64_t k = 0; k < ask.d; ++k) {
                double pull = 0;
                for (int t = 0; t < started; ++t) pull += workers[t]->pulled(i, k);
                (k < all.dp ? all.push[i * all.dp + k] : all.lone_push[i]) = s * q[k];
                ask.by_query[i * ask.d + k] = static_cast<float>(s * (pull - q[k] * g));
            }
            ask.by_scale[i] =
                ask.scale[i] > 0 ? static_cast<float>(-share * gx / ask.scale[i]) : 0.0f;
        }
    };

#pragma omp parallel num_threads(asked)
    {
        const FlushSmall flush;
        const int count = omp_get_num_threads(), mine = omp_get_thread_num();
        Worker worker(all, std::min(ask.n, tiles * mine / count * kTile),
                      std::min(ask.n, tiles * (mine + 1) / count * kTile));
        workers[mine] = &worker;
#pragma omp single
        started = count;
        if constexpr (!A::bounded) {
            worker.find_nearest();
#pragma omp barrier
#pragma omp single
            reduce_nearest();
        }
        worker.gather(h);
#pragma omp barrier
#pragma omp single
        reduce_sums();
        if (ask.workspace) worker.scatter();
#pragma omp barrier
    }
}

void sweep(const Problem& ask) {
    constexpr float kSafeBound = 60.0f;  // exp(-60) is far from the smallest float
    switch (ask.activation) {
        case kHanon:
            if (*std::max_element(ask.gammas, ask.gammas + ask.m) <= kSafeBound) {
                return run(ask, Hanon{ask.beta});
            }
            return run(ask, SteepHanon{ask.beta});
        case kHalin:
            return run(ask, Halin{ask.beta});
        case kXExp:
            return run(ask, XExp{});
        case kDouble:
            return run(ask, Linear{2.0f});
        case kArctanh:
            return run(ask, Arctanh{});
        default:
            return run(ask, Linear{1.0f});
    }
}

// ---- alignment: a_i = h(c_i |q_i - e_t(i)|^2) of positives, and the gradients of a sum of them --

struct Alignment {
    int64_t b, d;           // positives, dimensions
    const float* queries;   // (b, d)
    const float* entities;  // (n, d)
    const float* scale;     // (b,)
    const int64_t* tails;   // (b,) rows of entities
    int32_t activation;
    float beta;
    const float* gammas;  // (b,) bounds
    int32_t square;    // whether the sum is of a_i^2
    float share;       // weight of each positive in the sum
    int32_t threads;
    float* activated;  // (b,)   a_i
    float* by_query;   // (b, d)
    float* by_entity;  // (n, d) added to
    float* by_scale;   // (b,)
};

struct Value {
    double value, slope;
};

// One number at a time, as hale/activations.py has it.
Value activate(int32_t activation, double beta, double gamma, double x) {
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
        default:
            return {x, 1.0};
    }
}

void align(const Alignment& ask) {
    const int64_t d = ask.d;
#pragma omp parallel num_threads(std::max(1, ask.threads))
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < ask.b; ++i) {
            const float *q = ask.queries + i * d, *e = ask.entities + ask.tails[i] * d;
            if (i + kAhead < ask.b) call_up(ask.entities + ask.tails[i + kAhead] * d, d);
            float* by_query = ask.by_query + i * d;
            float distance = 0;
#pragma omp simd reduction(+ : distance)
            for (int64_t k = 0; k < d; ++k) {
                by_query[k] = q[k] - e[k];
                distance += by_query[k] * by_query[k];
            }
            const Value a =
                activate(ask.activation, ask.beta, ask.gammas[i], double(ask.scale[i]) * distance);
            const double slope = ask.share * a.slope * (ask.square ? 2 * a.value : 1.0);
            const float pull = static_cast<float>(2 * slope * ask.scale[i]);
            ask.activated[i] = static_cast<float>(a.value);
            ask.by_scale[i] = static_cast<float>(slope * distance);
#pragma omp simd
            for (int64_t k = 0; k < d; ++k) by_query[k] *= pull;
        }
        add_rows(ask.by_entity, d, ask.tails, ask.by_query, ask.b, -1.0f);
    }
}

// Floats of workspace for a sweep with gradients: g of every pair, rows in whole vectors.
int64_t workspace_size(int64_t m, int64_t n) { return n * padded(m) + Worker::kSlack; }

}  // namespace

HALE_EXPORT int64_t hale_uniformity_size() { return sizeof(Problem); }

HALE_EXPORT int64_t hale_workspace_size(int64_t m, int64_t n) { return workspace_size(m, n); }

HALE_EXPORT int64_t hale_alignment_size() { return sizeof(Alignment); }

HALE_EXPORT void hale_uniformity(const Problem* problem) { sweep(*problem); }

HALE_EXPORT void hale_alignment(const Alignment* alignment) { align(*alignment); }

// The build that suits this processor best; asked of the baseline build, which runs anywhere.
HALE_EXPORT const char* hale_best_build() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        return "avx512";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "baseline";
}
