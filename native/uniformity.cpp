// The uniformity term of the HaLE loss, its value and gradients: nearly all the time of a step.
//
// x_ij = c_i |q_i - e_j|^2,  w_ij = exp(-h(x_ij)),  Z_i = sum_j w_ij,  g_ij = w_ij h'(x_ij).
// The value is the mean of log Z_i; hale/engine/tiles.py derives the gradients and is the
// reference. These sources are compiled once per instruction set, each build into a library of its
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
#include <vector>

#include "worker.h"

namespace {

template <class A>
void run(const Uniformity& ask, const A& h) {
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

void sweep(const Uniformity& ask) {
    constexpr float kSafeBound = 60.0f;  // exp(-60) is far from the smallest float
    switch (ask.activation) {
        case kHanon: {
            const float bound = *std::max_element(ask.gammas, ask.gammas + ask.m);
            if (bound <= kSafeBound && middle_of(ask.beta, bound) <= kMaxPower) {
                return run(ask, Hanon{ask.beta});
            }
            return run(ask, SteepHanon{ask.beta});
        }
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

// Floats of workspace for a sweep with gradients: g of every pair, rows in whole vectors.
int64_t workspace_size(int64_t m, int64_t n) { return n * padded(m) + Worker::kSlack; }

}  // namespace

HALE_EXPORT int64_t hale_workspace_size(int64_t m, int64_t n) { return workspace_size(m, n); }

HALE_EXPORT void hale_uniformity(const Uniformity* ask) { sweep(*ask); }
