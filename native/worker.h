// One thread of a sweep: the sums and the gradients of its range of entities, tile by tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "shared.h"

namespace {

// Split `count` vectors into groups of at most `most`, as even as they go; body(first, size).
template <class Body>
ALWAYS_INLINE void in_groups(int64_t count, int64_t most, Body&& body) {
    int64_t groups = (count + most - 1) / most;
    for (int64_t i = 0; i < groups; ++i) {
        int64_t first = count * i / groups, last = count * (i + 1) / groups;
        body(first, static_cast<int>(last - first));
    }
}

class Worker {
   public:
    static constexpr int64_t kSlack = 64;  // register blocks read a little past the last row

    // For the chunks from `first` to before `last`.
    Worker(Shared& shared, int64_t first, int64_t last)
        : all(shared),
          ask(shared.ask),
          first_chunk(first),
          last_chunk(last),
          begin(shared.first_of(first)),
          end(shared.first_of(last)),
          nearest(shared.mp),
          rows(kTile * shared.ask.d + kLanes),
          spare(kTile * shared.mp + kSlack),
          mask(kTile * shared.mp),
          sums(3 * shared.mp),
          next(shared.ask.m) {
        mask.fill(1.0f);
        nearest.fill(std::numeric_limits<float>::infinity());
    }

    // Sums over each chunk: w, g and g x for every query, and g e (the pull).
    template <class A>
    void gather(const A& h) {
        for (int64_t chunk = first_chunk; chunk < last_chunk; ++chunk) gather_chunk(h, chunk);
    }

    // The smallest x of every query over this thread's entities that are not left out.
    void find_nearest() {
        each_tile(begin, end, [&](int64_t start, int64_t count) {
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
        each_tile(begin, end, [&](int64_t start, int64_t count) {
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

   private:
    template <class A>
    void gather_chunk(const A& h, int64_t chunk) {
        pull = all.pull.begin() + chunk * all.pull_rows * all.dp;
        lone_pull = all.lone_pull.begin() + chunk * all.mp;
        double* mass = &all.mass[chunk * 3 * all.mp];
        each_tile(all.first_of(chunk), all.first_of(chunk + 1), [&](int64_t start, int64_t count) {
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

    template <class Body>
    void each_tile(int64_t first, int64_t last, Body&& body) {
        for (int64_t i = 0; i < ask.m; ++i) {
            next[i] = std::lower_bound(ask.left_out + ask.left_from[i],
                                       ask.left_out + ask.left_from[i + 1], first) -
                      ask.left_out;
        }
        for (int64_t start = first; start < last; start += kTile) {
            body(start, std::min<int64_t>(kTile, last - start));
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
        filled = count;
        // Register blocks may reach so many rows beyond the last.
        const int64_t reached = std::min<int64_t>(kTile, count + kMaxRows);
        for (int64_t at = count * all.mp; at < reached * all.mp; ++at) masked.push_back(at);
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
        for (int64_t j = 0; j < filled; j += R) {
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
        float* __restrict sum_of = pull + lane;  // rows beyond m take what is never read
        for (int64_t next = 0; next < m; next += R) {
            // The last block goes back to where it fits: beyond g's last row lies another thread's.
            const int64_t i = std::min(next, mp - R);
            Vec acc[R][V];
            UNROLL for (int r = 0; r < R; ++r) {
                UNROLL for (int v = 0; v < V; ++v) {
                    acc[r][v] = load(sum_of + (i + r) * dp + v * kLanes);
                }
            }
            multiply<R, V>(acc, filled, g + i, 1, mp, from, d);
            UNROLL for (int r = 0; r < R; ++r) {
                if (i + r >= next) {  // the others have it already
                    UNROLL for (int v = 0; v < V; ++v) {
                        store(sum_of + (i + r) * dp + v * kLanes, acc[r][v]);
                    }
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
        multiply<1, V>(acc, filled, tile + ask.d - 1, 0, ask.d, g + lane, all.mp);
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
    const Uniformity& ask;
    const int64_t first_chunk, last_chunk, begin, end;

   public:
    Floats nearest;  // (mp,)

   private:
    const float* tile = nullptr;
    int64_t filled = kTile;    // rows of the tile at hand
    float norm[kTile];         // |e_j|^2 while gathering, sum_i s_i g_ij while scattering
    float* pull = nullptr;       // (pull_rows, dp) of the chunk at hand
    float* lone_pull = nullptr;  // (mp,)
    Floats rows;   // (kTile, d) a tile that had to be copied, and room for its last vector
    Floats spare;  // (kTile, mp) g of a tile cut short by the end of the range
    Floats mask;   // (kTile, mp) 1, or 0 for what is left out
    Floats sums;   // (3, mp) of one tile
    std::vector<int64_t> next;    // (m,) the next left-out entity of each query
    std::vector<int64_t> masked;  // places of the mask that are 0
    bool masked_row[kTile] = {};  // whether a row of the mask has any
};

}  // namespace
