// A sweep over the entities of one rank, shard by shard, in three calls: what travels between ranks
// travels between them. Sums of a shard depend on its entities and on the queries alone.
//
//   floors   h at the nearest entity of each query, for activations without a bound
//   sums     w, g, g x and g e of every shard, summed over its entities
//   push     the entities' gradients, once the sums of all ranks are known
//
// hale/engine/plain_sweep.py is the reference; x, w and g are those of uniformity.cpp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "visit.h"
#include "worker.h"

namespace {

// work(worker) on every thread, each with some of the shards.
template <class Work>
void on_threads(Shared& all, Work&& work) {
    const int threads = static_cast<int>(
        std::min<int64_t>(std::max(1, all.ask.threads), std::max<int64_t>(1, all.chunks)));
    Trouble trouble;
#pragma omp parallel num_threads(threads)
    {
        const FlushSmall flush;
        const int64_t count = omp_get_num_threads(), mine = omp_get_thread_num();
        trouble.in([&] {
            Worker worker(all, all.chunks * mine / count, all.chunks * (mine + 1) / count);
            work(worker);
        });
    }
    trouble.check();
}

template <class A>
void find_floors(const ShardSweep& ask, const A& h) {
    const Uniformity& sweep = *ask.sweep;
    *ask.bounded = A::bounded;
    if constexpr (!A::bounded) {
        Shared all(sweep, ask.begins, ask.shards);
        Floats least(all.mp);
        least.fill(std::numeric_limits<float>::infinity());
        on_threads(all, [&](Worker& worker) {
            worker.find_nearest();
#pragma omp critical
            for (int64_t v = 0; v < all.mp; v += kLanes) {
                store(&least[v], smaller(load(&worker.nearest[v]), load(&least[v])));
            }
        });
        for (int64_t v = 0; v < all.mp; v += kLanes) {
            store(&all.floor[v], h.value(load(&least[v]), all.own(v)));
        }
        for (int64_t i = 0; i < sweep.m; ++i) {
            ask.floors[i] = std::isinf(least[i]) ? least[i] : all.floor[i];
        }
    }
}

template <class A>
void sum_up(const ShardSweep& ask, const A& h) {
    const Uniformity& sweep = *ask.sweep;
    Shared all(sweep, ask.begins, ask.shards);
    std::copy_n(ask.floors, sweep.m, all.floor.begin());
    const int64_t width = 3 + sweep.d;
    on_threads(all, [&](Worker& worker) { worker.gather(h); });
#pragma omp parallel for schedule(static) num_threads(std::max(1, sweep.threads))
    for (int64_t c = 0; c < ask.shards; ++c) {
        const double* mass = &all.mass[c * 3 * all.mp];
        for (int64_t i = 0; i < sweep.m; ++i) {
            const double factor = h.factor(sweep.gammas[i]);
            const float* pull = &all.pull[(c * all.pull_rows + i) * all.dp];
            double* to = ask.parts + (c * sweep.m + i) * width;
            to[0] = mass[i];
            to[1] = factor * mass[all.mp + i];
            to[2] = factor * mass[2 * all.mp + i];
            for (int64_t k = 0; k < std::min(all.dp, sweep.d); ++k) to[3 + k] = factor * pull[k];
            if (all.lone) to[2 + sweep.d] = factor * all.lone_pull[c * all.mp + i];
        }
    }
}

template <class A>
void push(const ShardSweep& ask, const A& h) {
    const Uniformity& sweep = *ask.sweep;
    Shared all(sweep, ask.begins, ask.shards);
    for (int64_t i = 0; i < sweep.m; ++i) {
        const float s = static_cast<float>(2 * ask.shares[i] * h.factor(sweep.gammas[i]) *
                                           sweep.scale[i]);
        const float* q = sweep.queries + i * sweep.d;
        all.push_by[i] = s;
        for (int64_t k = 0; k < sweep.d; ++k) {
            (k < all.dp ? all.push[i * all.dp + k] : all.lone_push[i]) = s * q[k];
        }
    }
    on_threads(all, [](Worker& worker) { worker.scatter(); });
}

}  // namespace

HALE_EXPORT int32_t hale_shard_floors(const ShardSweep* ask) {
    return told([&] { visit(*ask->sweep, [&](const auto& h) { find_floors(*ask, h); }); });
}

HALE_EXPORT int32_t hale_shard_sums(const ShardSweep* ask) {
    return told([&] { visit(*ask->sweep, [&](const auto& h) { sum_up(*ask, h); }); });
}

HALE_EXPORT int32_t hale_shard_push(const ShardSweep* ask) {
    return told([&] { visit(*ask->sweep, [&](const auto& h) { push(*ask, h); }); });
}
