// Random calls of the functions that do many things at once: a whole step, and a sweep over shards.
#include "drawn.h"

extern "C" {
int32_t hale_step(const Step*);
int32_t hale_shard_floors(const ShardSweep*);
int32_t hale_shard_sums(const ShardSweep*);
int32_t hale_shard_push(const ShardSweep*);
int64_t hale_workspace_size(int64_t, int64_t);
}

void step();
void shards();

namespace {

// Some entities that a query leaves out, for each of m queries of n entities; at most so many.
struct LeftOut {
    Ids ids, from{0};
    LeftOut(int64_t m, int64_t n, int64_t most) {
        for (int64_t i = 0; i < m; ++i) {
            if (now_and_then()) {
                for (int64_t id : ascending(between(0, most), n)) ids.push_back(id);
            }
            from.push_back(static_cast<int64_t>(ids.size()));
        }
    }
};

// A table and what Adam keeps of it.
struct Moved {
    Floats values, means, squares;
    explicit Moved(int64_t size)
        : values(numbers(size, 0.1f)),  // near each other: x exp x of far ones is not finite
          means(numbers(size, 0.1f)),
          squares(positive(size, 1)) {}
    Parameter parameter() {
        return {values.data(), means.data(), squares.data(), 0.01f, 0.5f};
    }
    void write(Written& all) const { all.add(values), all.add(means), all.add(squares); }
};

}  // namespace

void step() {
    const int64_t n = between(1, 600), b = between(1, 300), m = between(1, b), k = between(0, 4),
                  dim = (k ? k : 2) * between(1, 9), d = dim + between(0, 1),
                  relations = between(1, 12), before = between(0, 20);
    const Ids heads = ids(b, n), tails = ids(b, n), which = ids(b, relations),
              drawn = ascending(m, b), block = ascending(between(1, n), n);
    Ids triples;
    for (int64_t i = 0; i < b; ++i) {
        for (int64_t id : {heads[i], which[i], tails[i]}) triples.push_back(id);
    }
    const int64_t s = static_cast<int64_t>(block.size());
    const LeftOut left(m, s, s - 1);  // a sum over nothing is not finite
    const Moved table(n * d), turns(relations * dim), shifts(relations * dim), alphas(relations),
        scales(relations), maps(relations * dim * std::max<int64_t>(1, k));
    const bool shifted = k || !now_and_then(), bent = !k && shifted && now_and_then(),
               scaled = !now_and_then(), based = now_and_then();
    std::vector<int32_t> last(n);
    for (int32_t& touched : last) touched = static_cast<int32_t>(between(0, before));
    const Floats due = positive(before + 1, 0.01f), gammas = positive(relations, 9);
    const int32_t activation = static_cast<int32_t>(between(kHanon, kSpline));
    const Floats shape = shape_of(activation);
    const std::vector<double> bases(m, 0.5);
    const int32_t lost = now_and_then() ? 20000 : 0, square = now_and_then();
    compare("hale_step", [&](int32_t threads) {
        Moved rows = table, at[] = {turns, shifts, alphas, scales, maps};
        const bool there[] = {!k, shifted, bent, scaled, k > 0};
        Parameter parameters[5] = {};
        for (int place = 0; place < 5; ++place) {
            if (there[place]) parameters[place] = at[place].parameter();
        }
        std::vector<int32_t> touched = last;
        std::vector<double> values(3);
        Step ask{};
        ask.b = b, ask.m = m, ask.s = s, ask.d = d, ask.dim = dim, ask.k = k;
        ask.relations = relations, ask.triples = triples.data(), ask.drawn = drawn.data();
        ask.block = block.data(), ask.left_out = left.ids.data(), ask.left_from = left.from.data();
        ask.table = rows.values.data(), ask.means = rows.means.data();
        ask.squares = rows.squares.data(), ask.last = touched.data(), ask.due = due.data();
        ask.step = before, ask.parameters = parameters, ask.gammas = gammas.data();
        ask.activation = activation, ask.beta = 3.0f, ask.shape = shape.data();
        ask.weight = 0.5f, ask.square = square, ask.ratio = 1.5;
        ask.bases = based ? bases.data() : nullptr, ask.lost = lost, ask.key = 7;
        ask.first = 0.1f, ask.second = 0.001f, ask.rate = 0.01f, ask.eps = 1e-8f;
        ask.threads = threads, ask.values = values.data();
        done("hale_step", hale_step(&ask));
        if (!values[2]) fail("hale_step: its loss is not finite");
        Written all;
        all.add(values), all.add(touched), rows.write(all);
        for (const Moved& one : at) one.write(all);
        return all;
    });
}

void shards() {
    const int64_t m = between(1, 40), n = between(1, 900), d = between(1, 40), count = between(1, 9);
    const int32_t activation = static_cast<int32_t>(between(kHanon, kSpline));
    const Floats queries = numbers(m * d), entities = numbers(n * d), scale = positive(m, 2),
                 gammas = positive(m, 9), shape = shape_of(activation);
    const LeftOut left(m, n, n);
    Ids begins{0, n};
    while (static_cast<int64_t>(begins.size()) <= count) begins.push_back(between(0, n));
    std::sort(begins.begin(), begins.end());  // a shard may be empty
    const std::vector<double> shares(m, 1.0 / static_cast<double>(m));
    compare("shards", [&](int32_t threads) {
        Floats workspace(hale_workspace_size(m, n)), by_entity(n * d), floors(m);
        std::vector<double> parts(count * m * (3 + d));
        int32_t bounded = 0;
        Uniformity sweep{};
        sweep.m = m, sweep.n = n, sweep.d = d, sweep.queries = queries.data();
        sweep.entities = entities.data(), sweep.scale = scale.data();
        sweep.activation = activation, sweep.beta = 3.0f, sweep.shape = shape.data();
        sweep.gammas = gammas.data(), sweep.left_out = left.ids.data();
        sweep.left_from = left.from.data(), sweep.ratio = 1.0, sweep.threads = threads;
        sweep.workspace = workspace.data(), sweep.by_entity = by_entity.data();
        const ShardSweep ask{&sweep, begins.data(), count, &bounded, floors.data(), parts.data(),
                             shares.data()};
        done("hale_shard_floors", hale_shard_floors(&ask));
        for (float& floor : floors) floor = std::min(floor, 1e30f);  // all left out: any will do
        done("hale_shard_sums", hale_shard_sums(&ask));
        done("hale_shard_push", hale_shard_push(&ask));
        Written all;
        all.add(floors), all.add(parts), all.add(by_entity);
        return all;
    });
}
