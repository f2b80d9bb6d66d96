// A whole training step of HaLE with a model that rotates or maps, in one call: rows are looked up,
// made into queries, pulled to their tails and pushed from a block of entities, and those touched
// are moved by Adam, and the tables of the relations with them. Each part is the function that
// Python can call alone; what this saves is the way between them. The reference is the same step by
// autograd (hale/training/trainer.py).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common.h"
#include "lag.h"
#include "problems.h"
#include "relations.h"
#include "rows.h"

HALE_EXPORT int32_t hale_gather_rows(const Rows*);
HALE_EXPORT int32_t hale_add_rows(const Rows*);
HALE_EXPORT int32_t hale_sum_rows(const SumRows*);
HALE_EXPORT int32_t hale_adam_rows(const AdamRows*);
HALE_EXPORT int32_t hale_turn(const Turn*);
HALE_EXPORT int32_t hale_turn_back(const Turn*);
HALE_EXPORT int32_t hale_map(const Map*);
HALE_EXPORT int32_t hale_map_back(const Map*);
HALE_EXPORT int32_t hale_alignment(const Alignment*);
HALE_EXPORT int32_t hale_uniformity(const Uniformity*);
HALE_EXPORT int32_t hale_mask(const Mask*);
HALE_EXPORT int64_t hale_workspace_size(int64_t, int64_t);

namespace {

constexpr int64_t kRowsOfThread = 256;  // of queries: fewer are not worth another thread
constexpr int64_t kSlopes = int64_t(1) << 26;  // floats of g kept at once, 256 MB

// Memory that is kept from step to step: fresh memory costs a page fault a page.
struct Room {
    std::vector<float> heads, tails, entities, queries, drawn, mask, scale, gammas, drawn_scale,
        drawn_gammas, activated, by_query, by_tail, by_scale, by_drawn, by_drawn_scale, by_entity,
        by_head, summed, workspace;
    std::vector<double> logs;
    std::vector<int64_t> head_ids, tail_ids, relations, touched;
    Relations tables;
};

template <class T>
T* sized(std::vector<T>& memory, int64_t size) {
    if (static_cast<int64_t>(memory.size()) < size) memory.resize(size);
    return memory.data();
}

class Stepper {
   public:
    Stepper(const Step& step, Room& memory) : ask(step), room(memory) {}

    // Told whether the loss is finite; if it is not, nothing is moved.
    void run() {
        read();
        turn();
        drop(room.queries.data());
        spread();
        align();
        add_drawn();
        ask.values[2] = std::isfinite(ask.values[0]) && std::isfinite(ask.values[1]);
        if (ask.values[2] == 0) return;
        drop(room.by_query.data());
        turn_back();
        move();
        room.tables.move(ask);
    }

   private:
    void gather(const int64_t* ids, int64_t count, const float* table, float* rows) const {
        const Rows problem{count, ask.d, const_cast<float*>(table), ids, rows, ask.threads};
        must(hale_gather_rows(&problem));
    }

    // Rows of the entities as they are by now, though their momentum has not moved them yet.
    void look_up(const int64_t* ids, int64_t count, float* rows) const {
        const Lag lag(ask);
        const int64_t d = ask.d;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask.threads))
        for (int64_t i = 0; i < count; ++i) {
            if (i + kAhead < count) {
                const int64_t ahead = ids[i + kAhead] * d;
                call_up(ask.table + ahead, d);
                call_up(ask.means + ahead, d);
                call_up(ask.squares + ahead, d);
            }
            const float *p = ask.table + ids[i] * d, *m = ask.means + ids[i] * d,
                        *v = ask.squares + ids[i] * d;
            const float way = lag.way(ids[i]);
            float* row = rows + i * d;
            if (way == 0) {
                std::copy_n(p, d, row);
                continue;
            }
#pragma omp simd
            for (int64_t k = 0; k < d; ++k) row[k] = p[k] - way * m[k] / (std::sqrt(v[k]) + lag.eps);
        }
    }

    // Rows and what relations say of the queries.
    void read() {
        room.tables.make(ask);
        const float* scales = room.tables.scales.data();
        int64_t *heads = sized(room.head_ids, ask.b), *tails = sized(room.tail_ids, ask.b),
                *relations = sized(room.relations, ask.b);
        float *scale = sized(room.scale, ask.b), *gammas = sized(room.gammas, ask.b);
        for (int64_t i = 0; i < ask.b; ++i) {
            heads[i] = ask.triples[3 * i];
            relations[i] = ask.triples[3 * i + 1];
            tails[i] = ask.triples[3 * i + 2];
            scale[i] = scales[relations[i]];
            gammas[i] = ask.gammas[relations[i]];
        }
        look_up(heads, ask.b, sized(room.heads, ask.b * ask.d));
        look_up(tails, ask.b, sized(room.tails, ask.b * ask.d));
        look_up(ask.block, ask.s, sized(room.entities, ask.s * ask.d));
    }

    // What Turn and Map have in common.
    template <class Problem>
    Problem asked() const {
        Problem problem{};
        problem.b = ask.b;
        problem.d = ask.dim;
        problem.stride = problem.width = ask.d;
        problem.relations = ask.relations;
        problem.vectors = room.heads.data();
        problem.which = room.relations.data();
        problem.shifts = room.tables.shifts(ask);
        problem.threads = static_cast<int32_t>(
            std::min<int64_t>(ask.threads, std::max<int64_t>(1, ask.b / kRowsOfThread)));
        return problem;
    }

    Turn turning() const {
        Turn problem = asked<Turn>();
        problem.turns = room.tables.turns.data();
        problem.alphas = room.tables.alphas(ask);
        return problem;
    }

    Map mapping() const {
        Map problem = asked<Map>();
        problem.k = ask.k;
        problem.maps = room.tables.maps(ask);
        return problem;
    }

    void turn() {
        float* queries = sized(room.queries, ask.b * ask.d);
        if (ask.k) {
            Map problem = mapping();
            problem.queries = queries;
            must(hale_map(&problem));
        } else {
            Turn problem = turning();
            problem.queries = queries;
            must(hale_turn(&problem));
        }
        clear_heights(queries);
    }

    // Queries have no height, so nothing is lost of a gradient by one.
    void clear_heights(float* rows) const {
        for (int64_t k = ask.dim; k < ask.d; ++k) {
            for (int64_t i = 0; i < ask.b; ++i) rows[i * ask.d + k] = 0;
        }
    }

    // Dropout of queries, and of gradients by them: the mask is the same.
    void drop(float* rows) {
        if (!ask.lost) return;
        float* mask = sized(room.mask, ask.b * ask.dim);
        if (rows == room.queries.data()) {
            const Mask problem{ask.lost, ask.key, ask.b * ask.dim, mask, ask.threads};
            must(hale_mask(&problem));
        }
        for (int64_t i = 0; i < ask.b; ++i) {
            float* row = rows + i * ask.d;
            const float* kept = mask + i * ask.dim;
#pragma omp simd
            for (int64_t k = 0; k < ask.dim; ++k) row[k] *= kept[k];
        }
    }

    // Uniformity of the queries drawn.
    void spread() {
        float *drawn = sized(room.drawn, ask.m * ask.d), *scale = sized(room.drawn_scale, ask.m),
              *gammas = sized(room.drawn_gammas, ask.m);
        gather(ask.drawn, ask.m, room.queries.data(), drawn);
        for (int64_t i = 0; i < ask.m; ++i) {
            scale[i] = room.scale[ask.drawn[i]];
            gammas[i] = room.gammas[ask.drawn[i]];
        }
        double* logs = sized(room.logs, ask.m);
        float *by_drawn = sized(room.by_drawn, ask.m * ask.d),
              *by_scale = sized(room.by_drawn_scale, ask.m),
              *by_entity = sized(room.by_entity, ask.s * ask.d);
        // As many queries at once as the slopes of all their pairs have room.
        const int64_t fit = std::max<int64_t>(16, kSlopes / std::max<int64_t>(1, ask.s) / 16 * 16);
        for (int64_t start = 0; start < ask.m; start += fit) {
            Uniformity problem{};
            problem.m = std::min(fit, ask.m - start);
            problem.n = ask.s;
            problem.d = ask.d;
            problem.queries = drawn + start * ask.d;
            problem.entities = room.entities.data();
            problem.scale = scale + start;
            problem.activation = ask.activation;
            problem.beta = ask.beta;
            problem.shape = ask.shape;
            problem.gammas = gammas + start;
            problem.left_out = ask.left_out;
            problem.left_from = ask.left_from + start;
            problem.ratio = ask.ratio;
            problem.bases = ask.bases ? ask.bases + start : nullptr;
            problem.share = 1.0f / static_cast<float>(ask.m);
            problem.add = start > 0;
            problem.threads = ask.threads;
            problem.workspace = sized(room.workspace, hale_workspace_size(problem.m, ask.s));
            problem.logs = logs + start;
            problem.by_query = by_drawn + start * ask.d;
            problem.by_entity = by_entity;
            problem.by_scale = by_scale + start;
            must(hale_uniformity(&problem));
        }
        double total = 0;
        for (int64_t i = 0; i < ask.m; ++i) total += logs[i];
        ask.values[1] = total / static_cast<double>(ask.m);
    }

    // Alignment of all positives.
    void align() {
        Alignment problem{};
        problem.b = ask.b;
        problem.d = ask.d;
        problem.queries = room.queries.data();
        problem.tails = room.tails.data();
        problem.scale = room.scale.data();
        problem.activation = ask.activation;
        problem.beta = ask.beta;
        problem.shape = ask.shape;
        problem.gammas = room.gammas.data();
        problem.square = ask.square;
        problem.share = ask.weight / static_cast<float>(ask.b);
        problem.threads = ask.threads;
        problem.activated = sized(room.activated, ask.b);
        problem.by_query = sized(room.by_query, ask.b * ask.d);
        problem.by_tail = sized(room.by_tail, ask.b * ask.d);
        problem.by_scale = sized(room.by_scale, ask.b);
        must(hale_alignment(&problem));
        double total = 0;
        for (int64_t i = 0; i < ask.b; ++i) {
            const double a = problem.activated[i];
            total += ask.square ? a * a : a;
        }
        ask.values[0] = total / static_cast<double>(ask.b);
    }

    // What uniformity says of the queries drawn goes with what alignment says of all.
    void add_drawn() {
        const Rows problem{ask.m, ask.d, room.by_query.data(), ask.drawn, room.by_drawn.data(),
                           ask.threads};
        must(hale_add_rows(&problem));
        for (int64_t i = 0; i < ask.m; ++i) room.by_scale[ask.drawn[i]] += room.by_drawn_scale[i];
        std::vector<double> sums(ask.relations);
        for (int64_t i = 0; i < ask.b; ++i) sums[room.relations[i]] += room.by_scale[i];
        std::copy(sums.begin(), sums.end(), room.tables.by_scales.begin());
    }

    void turn_back() {
        float* by_head = sized(room.by_head, ask.b * ask.d);
        if (ask.k) {
            Map problem = mapping();
            problem.by_queries = room.by_query.data();
            problem.by_vectors = by_head;
            problem.by_maps = room.tables.by_maps.data();
            problem.by_shifts = room.tables.by_shifts.data();
            must(hale_map_back(&problem));
        } else {
            Turn problem = turning();
            problem.by_queries = room.by_query.data();
            problem.by_vectors = by_head;
            problem.by_turns = room.tables.by_turns.data();
            problem.by_shifts = problem.shifts ? room.tables.by_shifts.data() : nullptr;
            problem.by_alphas = problem.alphas ? room.tables.by_alphas.data() : nullptr;
            must(hale_turn_back(&problem));
        }
        clear_heights(by_head);
    }

    void move() {
        const int64_t counts[] = {ask.s, ask.b, ask.b}, total = ask.s + 2 * ask.b;
        const int64_t* ids[] = {ask.block, room.head_ids.data(), room.tail_ids.data()};
        const float* rows[] = {room.by_entity.data(), room.by_head.data(), room.by_tail.data()};
        int64_t found = 0;
        const SumRows sums{3,           ask.d,  counts,
                           ids,         rows,   ask.threads,
                           &found,      sized(room.touched, total),
                           sized(room.summed, total * ask.d)};
        must(hale_sum_rows(&sums));
        AdamRows adam{};
        adam.b = found;
        adam.d = ask.d;
        adam.ids = sums.touched;
        adam.gradients = sums.summed;
        adam.table = ask.table;
        adam.means = ask.means;
        adam.squares = ask.squares;
        adam.last = ask.last;
        adam.due = ask.due;
        adam.step = ask.step;
        adam.first = ask.first;
        adam.second = ask.second;
        adam.rate = ask.rate;
        adam.eps = ask.eps;
        adam.threads = ask.threads;
        must(hale_adam_rows(&adam));
    }

    const Step& ask;
    Room& room;
};

}  // namespace

HALE_EXPORT int32_t hale_step(const Step* ask) {
    return told([&] {
        static thread_local Room room;
        Stepper(*ask, room).run();
    });
}
