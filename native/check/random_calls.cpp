// Calls of the kernel's functions at random sizes with random numbers, for sanitizers: every array
// is as large as its description says and no larger, and several threads must give the bits of one.
//
//   hale_calls_address SEED COUNT
//   hale_calls_fuzz -runs=COUNT        (led by libFuzzer to what the calls reach; clang)
#include <numeric>

#include "drawn.h"

extern "C" {
int32_t hale_uniformity(const Uniformity*);
int32_t hale_alignment(const Alignment*);
int32_t hale_turn(const Turn*);
int32_t hale_turn_back(const Turn*);
int32_t hale_map(const Map*);
int32_t hale_map_back(const Map*);
int32_t hale_gather_rows(const Rows*);
int32_t hale_add_rows(const Rows*);
int32_t hale_sum_rows(const SumRows*);
int32_t hale_adam_rows(const AdamRows*);
int32_t hale_draw_block(const Draw*);
int32_t hale_places(const Find*);
int32_t hale_leave(const Leave*);
int32_t hale_mask(const Mask*);
int32_t hale_count_above(const Ranks*);
int32_t hale_score_pairs(const Pairs*);
int32_t hale_digit_sums(const DigitSums*);
int64_t hale_workspace_size(int64_t, int64_t);
}

void step();    // random_steps.cpp
void shards();

namespace {

void uniformity() {
    const int64_t m = between(1, 40), n = between(1, 900), d = between(1, 40);
    const int32_t activation = static_cast<int32_t>(between(kHanon, kSpline));
    const Floats queries = numbers(m * d), entities = numbers(n * d), scale = positive(m, 2),
                 gammas = positive(m, now_and_then() ? 90.0f : 9.0f), shape = shape_of(activation);
    Ids left_out, left_from{0};
    for (int64_t i = 0; i < m; ++i) {
        if (now_and_then()) {
            for (int64_t id : ascending(between(0, n), n)) left_out.push_back(id);
        }
        left_from.push_back(left_out.size());
    }
    std::vector<double> bases(m, 0.5), others(m, -1.0);
    const bool gradients = !now_and_then(), based = now_and_then(), more = now_and_then();
    compare("hale_uniformity", [&](int32_t threads) {
        Uniformity ask{};
        Floats workspace(gradients ? hale_workspace_size(m, n) : 0), by_query(m * d),
            by_entity(n * d), by_scale(m);
        std::vector<double> logs(m), by_others(m), phases(3);
        ask.m = m, ask.n = n, ask.d = d;
        ask.queries = queries.data(), ask.entities = entities.data(), ask.scale = scale.data();
        ask.activation = activation, ask.beta = 3.0f;
        ask.shape = shape.data(), ask.gammas = gammas.data();
        ask.left_out = left_out.data(), ask.left_from = left_from.data();
        ask.ratio = 1.5, ask.share = 1.0f / static_cast<float>(m), ask.threads = threads;
        ask.bases = based ? bases.data() : nullptr, ask.others = more ? others.data() : nullptr;
        ask.logs = logs.data(), ask.phases = phases.data();
        if (gradients) {
            ask.workspace = workspace.data(), ask.by_query = by_query.data();
            ask.by_entity = by_entity.data(), ask.by_scale = by_scale.data();
            ask.by_others = more ? by_others.data() : nullptr;
        }
        done("hale_uniformity", hale_uniformity(&ask));
        Written all;
        all.add(logs), all.add(by_query), all.add(by_entity), all.add(by_scale), all.add(by_others);
        return all;
    });
}

void alignment() {
    const int64_t b = between(1, 300), d = between(1, 40);
    const int32_t activation = static_cast<int32_t>(between(kHanon, kSpline));
    const Floats queries = numbers(b * d), tails = numbers(b * d), scale = positive(b, 2),
                 gammas = positive(b, 9), shape = shape_of(activation);
    compare("hale_alignment", [&](int32_t threads) {
        Floats activated(b), by_query(b * d), by_tail(b * d), by_scale(b);
        const Alignment ask{b, d, queries.data(), tails.data(), scale.data(), activation, 3.0f,
                            shape.data(), gammas.data(), 1, 0.5f, threads, activated.data(),
                            by_query.data(), by_tail.data(), by_scale.data()};
        done("hale_alignment", hale_alignment(&ask));
        Written all;
        all.add(activated), all.add(by_query), all.add(by_tail), all.add(by_scale);
        return all;
    });
}

void turn() {
    const int64_t b = between(1, 400), d = 2 * between(1, 20), relations = between(1, 12),
                  stride = d + between(0, 3), width = d + between(0, 2);
    const Floats vectors = numbers(b * stride), turns = numbers(relations * d),
                 shifts = numbers(relations * d), alphas = numbers(relations),
                 by_queries = numbers(b * width);
    const Ids which = ids(b, relations);
    const bool shifted = !now_and_then(), bent = shifted && now_and_then();
    compare("hale_turn", [&](int32_t threads) {
        Floats queries(b * width), by_vectors(b * width), by_turns(relations * d),
            by_shifts(relations * d), by_alphas(relations);
        const Turn ask{b, d, stride, width, relations, vectors.data(), which.data(), turns.data(),
                       shifted ? shifts.data() : nullptr, bent ? alphas.data() : nullptr, threads,
                       queries.data(), by_queries.data(), by_vectors.data(), by_turns.data(),
                       shifted ? by_shifts.data() : nullptr, bent ? by_alphas.data() : nullptr};
        done("hale_turn", hale_turn(&ask));
        done("hale_turn_back", hale_turn_back(&ask));
        Written all;
        all.add(queries), all.add(by_vectors), all.add(by_turns), all.add(by_shifts),
            all.add(by_alphas);
        return all;
    });
}

void map() {
    const int64_t b = between(1, 400), k = between(1, 9), d = k * between(1, 6),
                  relations = between(1, 12);
    const Floats vectors = numbers(b * d), maps = numbers(relations * d * k),
                 shifts = numbers(relations * d), by_queries = numbers(b * d);
    const Ids which = ids(b, relations);
    compare("hale_map", [&](int32_t threads) {
        Floats queries(b * d), by_vectors(b * d), by_maps(relations * d * k),
            by_shifts(relations * d);
        const Map ask{b, d, k, d, d, relations, vectors.data(), which.data(), maps.data(),
                      shifts.data(), threads, queries.data(), by_queries.data(), by_vectors.data(),
                      by_maps.data(), by_shifts.data()};
        done("hale_map", hale_map(&ask));
        done("hale_map_back", hale_map_back(&ask));
        Written all;
        all.add(queries), all.add(by_vectors), all.add(by_maps), all.add(by_shifts);
        return all;
    });
}

void rows() {
    const int64_t n = between(1, 500), b = between(1, 700), d = between(1, 40);
    const Floats table = numbers(n * d), added = numbers(b * d);
    const Ids which = ids(b, n);
    compare("rows", [&](int32_t threads) {
        Floats changed = table, gathered(b * d), summed(b * d);
        const Rows look{b, d, changed.data(), which.data(), gathered.data(), threads};
        done("hale_gather_rows", hale_gather_rows(&look));
        const Rows add{b, d, changed.data(), which.data(), const_cast<float*>(added.data()), threads};
        done("hale_add_rows", hale_add_rows(&add));
        const int64_t counts[] = {b / 2, b - b / 2};
        const int64_t* parts[] = {which.data(), which.data() + b / 2};
        const float* values[] = {added.data(), added.data() + b / 2 * d};
        int64_t count = 0;
        Ids touched(b);
        const SumRows sum{2, d, counts, parts, values, threads, &count, touched.data(), summed.data()};
        done("hale_sum_rows", hale_sum_rows(&sum));
        Written all;
        all.add(changed), all.add(gathered), all.add(touched), all.add(summed);
        return all;
    });
}

void adam() {
    const int64_t n = between(1, 300), d = between(1, 40), step = between(0, 30);
    const Ids moved = ascending(between(1, n), n);
    const int64_t b = moved.size();
    const Floats table = numbers(n * d), means = numbers(n * d), squares = positive(n * d, 1),
                 gradients = numbers(b * d), due = positive(step + 1, 0.1f);
    std::vector<int32_t> last(n);
    for (int32_t& touched : last) touched = static_cast<int32_t>(between(0, step));
    const bool settle = now_and_then();
    compare("hale_adam_rows", [&](int32_t threads) {
        Floats p = table, m = means, v = squares;
        std::vector<int32_t> at = last;
        const AdamRows ask{b, d, moved.data(), settle ? nullptr : gradients.data(), p.data(),
                           m.data(), v.data(), at.data(), due.data(), step, 0.1f, 0.001f, 0.01f,
                           1e-8f, threads};
        done("hale_adam_rows", hale_adam_rows(&ask));
        Written all;
        all.add(p), all.add(m), all.add(v), all.add(at);
        return all;
    });
}

void blocks() {
    const int64_t n = between(1, 5000), s = between(1, n), start = between(0, n - s);
    std::vector<uint32_t> keys(6);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(draws());
    Ids block(s);
    const Draw draw{n, s, start, keys.data(), block.data()};
    done("hale_draw_block", hale_draw_block(&draw));
    for (int64_t i = 0; i < s; ++i) {
        if (block[i] < 0 || block[i] >= n || (i && block[i] <= block[i - 1])) fail("a block");
    }
    const int64_t count = between(0, 300);
    const Ids wanted = ids(count, n);
    Ids places(count);
    const Find find{s, count, block.data(), wanted.data(), places.data()};
    done("hale_places", hale_places(&find));
    for (int64_t i = 0; i < count; ++i) {
        if (places[i] >= s || (places[i] >= 0 && block[places[i]] != wanted[i])) fail("a place");
    }
    const int64_t m = between(1, 50), relations = between(1, 8);
    const Ids keyed = ascending(between(0, 40), n * relations), heads = ids(m, n),
              asked = ids(m, relations);
    std::vector<int32_t> offsets{0}, answers;
    for (size_t i = 0; i < keyed.size(); ++i) {
        for (int64_t id : ascending(between(1, n), n)) answers.push_back(static_cast<int32_t>(id));
        offsets.push_back(static_cast<int32_t>(answers.size()));
    }
    const int64_t room = between(0, 200);
    Ids found(room), begins(m + 1), counts(m);
    const Leave leave{m, s, static_cast<int64_t>(keyed.size()), relations, heads.data(),
                      asked.data(), nullptr, block.data(), keyed.data(), offsets.data(),
                      answers.data(), room, found.data(), begins.data(), counts.data()};
    done("hale_leave", hale_leave(&leave));
}

void mask() {
    const int64_t count = between(1, 3000);
    const int32_t lost = static_cast<int32_t>(between(0, 65535)), key = static_cast<int32_t>(draws());
    compare("hale_mask", [&](int32_t threads) {
        Floats found(count);
        const Mask ask{lost, key, count, found.data(), threads};
        done("hale_mask", hale_mask(&ask));
        Written all;
        all.add(found);
        return all;
    });
}

void ranks() {
    const int64_t m = between(1, 70), n = between(1, 900), d = between(1, 40), count = between(0, 60);
    const Floats queries = numbers(m * d), entities = numbers(n * d), own = numbers(m),
                 biases = numbers(n), thresholds = numbers(m, 5), marked = numbers(m, 5);
    const Ids rows = ids(count, m), columns = ids(count, n);
    std::vector<uint8_t> marks(n);
    for (uint8_t& mark : marks) mark = now_and_then();
    const bool biased = now_and_then(), some = now_and_then();
    const int32_t by_distance = now_and_then();
    compare("ranks", [&](int32_t threads) {
        Ids higher(m), no_lower(m);
        std::vector<int32_t> finite(m);
        Floats scores(count);
        const Ranks ask{m, n, d, queries.data(), entities.data(), own.data(),
                        biased ? biases.data() : nullptr, by_distance, threads, thresholds.data(),
                        some ? marks.data() : nullptr, some ? marked.data() : nullptr,
                        higher.data(), no_lower.data(), finite.data()};
        done("hale_count_above", hale_count_above(&ask));
        const Pairs pairs{count, d, queries.data(), entities.data(), own.data(),
                          biased ? biases.data() : nullptr, by_distance, threads, rows.data(),
                          columns.data(), scores.data()};
        done("hale_score_pairs", hale_score_pairs(&pairs));
        Written all;
        all.add(higher), all.add(no_lower), all.add(finite), all.add(scores);
        return all;
    });
}

void digit_sums() {
    const int64_t c = between(1, 9), count = between(1, 60), runs = between(1, 4);
    Ids widths(runs);
    for (int64_t& width : widths) width = between(1, 90);
    const int64_t k = std::accumulate(widths.begin(), widths.end(), int64_t{0});
    std::vector<double> parts(c * count * k);
    for (double& x : parts) x = std::normal_distribution<double>()(draws.random);
    compare("hale_digit_sums", [&](int32_t threads) {
        std::vector<int8_t> places(count * runs);
        std::vector<int32_t> digits(3 * count * k);
        const DigitSums ask{c, count, k, runs, parts.data(), widths.data(), places.data(),
                            digits.data(), threads};
        done("hale_digit_sums", hale_digit_sums(&ask));
        Written all;
        all.add(places), all.add(digits);
        return all;
    });
}

void (*const calls[])() = {uniformity, alignment, turn,  map,        rows, adam,
                           blocks,     mask,      ranks, digit_sums, step, shards};
constexpr int64_t kCalls = sizeof calls / sizeof *calls;

}  // namespace

#ifdef HALE_FUZZ

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    draws.follow(bytes, size);
    calls[between(0, kCalls - 1)]();
    return 0;
}

#else

int main(int given, char** values) {
    const uint64_t seed = given > 1 ? std::strtoull(values[1], nullptr, 10) : 0;
    const int64_t count = given > 2 ? std::strtoll(values[2], nullptr, 10) : 1000;
    for (int64_t number = 0; number < count; ++number) {
        draws.seed(seed + number);  // so that a call that fails can be made again alone
        calls[number % kCalls]();
    }
    std::printf("%lld calls, seeds from %llu\n", static_cast<long long>(count),
                static_cast<unsigned long long>(seed));
}

#endif
