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
// often is, goes apart: its sums run along the queries. Sums are made chunk by chunk of the entities
// and meet in their order (shared.h), so any number of threads gives the same bits.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "visit.h"
#include "worker.h"

namespace {

// How long each phase took, where that is asked for.
class Phases {
   public:
    explicit Phases(double* where) : seconds(where), since(Clock::now()) {}
    void ends(int phase) {
        if (!seconds) return;
        const Clock::time_point now = Clock::now();
        seconds[phase] += std::chrono::duration<double>(now - since).count();
        since = now;
    }

   private:
    using Clock = std::chrono::steady_clock;
    double* seconds;
    Clock::time_point since;
};

// The sums of query i meet, chunk after chunk: its value, and the gradients by query and scale.
//
// Z_i = ratio sum_j w_ij + base_i, to which exp(others_i) is added where there are others.
template <class A>
void meet(Shared& all, const A& h, int64_t i, std::vector<double>& pulled) {
    const Uniformity& ask = all.ask;
    double w = 0, g = 0, gx = 0;
    for (int64_t c = 0; c < all.chunks; ++c) {
        const double* mass = &all.mass[c * 3 * all.mp];
        w += mass[i];
        g += mass[all.mp + i];
        gx += mass[2 * all.mp + i];
    }
    const double floor = all.floor[i];
    double z = ask.ratio * w;  // of exp(floor) Z_i
    if (ask.bases) z += ask.bases[i] * std::exp(floor);
    // w of a NaN is not always one, but g x is.
    double log = std::isnan(gx) ? gx : std::log(z) - floor, part = 1;
    if (ask.others) {  // log (exp(log) + exp(other)), the larger one taken out
        const double other = ask.others[i], most = std::max(log, other);
        const double both = most + std::log(std::exp(log - most) + std::exp(other - most));
        part = std::exp(log - both);
        if (ask.by_others) ask.by_others[i] = ask.share * std::exp(other - both);
        log = both;
    }
    ask.logs[i] = log;
    if (!ask.workspace) return;
    // nothing where a block has nothing for the query
    const double share = z == 0 ? 0 : ask.share * part * ask.ratio * h.factor(ask.gammas[i]) / z;
    const float s = static_cast<float>(2 * share * ask.scale[i]);
    const float* q = ask.queries + i * ask.d;
    all.push_by[i] = s;
    std::fill(pulled.begin(), pulled.end(), 0.0);
    for (int64_t c = 0; c < all.chunks; ++c) {
        const float* pull = &all.pull[(c * all.pull_rows + i) * all.dp];
        for (int64_t k = 0; k < all.dp; ++k) pulled[k] += pull[k];
        if (all.lone) pulled[all.dp] += all.lone_pull[c * all.mp + i];
    }
    for (int64_t k = 0; k < ask.d; ++k) {
        (k < all.dp ? all.push[i * all.dp + k] : all.lone_push[i]) = s * q[k];
        ask.by_query[i * ask.d + k] = static_cast<float>(s * (pulled[k] - q[k] * g));
    }
    ask.by_scale[i] = ask.scale[i] > 0 ? static_cast<float>(-share * gx / ask.scale[i]) : 0.0f;
}

template <class A>
void run(const Uniformity& ask, const A& h) {
    Shared all(ask);
    const int asked = static_cast<int>(std::min<int64_t>(std::max(1, ask.threads), all.chunks));
    std::vector<Worker*> workers(asked, nullptr);
    Phases clock(ask.phases);
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

    Trouble trouble;
#pragma omp parallel num_threads(asked)
    {
        const FlushSmall flush;
        const int count = omp_get_num_threads(), mine = omp_get_thread_num();
        std::optional<Worker> worker;
        std::vector<double> pulled;
        trouble.in([&] {
            worker.emplace(all, all.chunks * mine / count, all.chunks * (mine + 1) / count);
            workers[mine] = &*worker;
            pulled.resize(all.dp + 1);
            if constexpr (!A::bounded) worker->find_nearest();
        });
        // Behind each wait all threads see the same trouble, and go on together or not at all.
#pragma omp single
        started = count;
        if constexpr (!A::bounded) {
#pragma omp single
            if (!trouble.found()) reduce_nearest();
        }
        if (!trouble.found()) trouble.in([&] { worker->gather(h); });
#pragma omp barrier
        if (mine == 0) clock.ends(0);
        const bool gathered = !trouble.found();
#pragma omp for schedule(static)
        for (int64_t i = 0; i < ask.m; ++i) {
            if (gathered) meet(all, h, i, pulled);
        }
        if (mine == 0) clock.ends(1);
        if (gathered && ask.workspace) trouble.in([&] { worker->scatter(); });
#pragma omp barrier
        if (mine == 0) clock.ends(2);
    }
    trouble.check();
}

void sweep(const Uniformity& ask) {
    visit(ask, [&](const auto& h) { run(ask, h); });
}

// Floats of workspace for a sweep with gradients: g of every pair, rows in whole vectors.
int64_t workspace_size(int64_t m, int64_t n) { return n * padded_queries(m) + Worker::kSlack; }

}  // namespace

HALE_EXPORT int64_t hale_workspace_size(int64_t m, int64_t n) { return workspace_size(m, n); }

HALE_EXPORT int32_t hale_uniformity(const Uniformity* ask) {
    return told([&] { sweep(*ask); });
}
