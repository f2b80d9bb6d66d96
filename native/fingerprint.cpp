// Which fields the structures have: Python fills them in by its own list, which must be the same.
#include <cstddef>
#include <string>
#include <type_traits>

#include "common.h"
#include "problems.h"

namespace {

template <class T>
std::string field(const char* name, size_t offset) {
    const char* kind = std::is_pointer_v<T>          ? "pointer"
                       : std::is_floating_point_v<T> ? "float"
                                                     : "int";
    return std::string(" ") + name + ":" + kind + ":" + std::to_string(offset) + ":" +
           std::to_string(sizeof(T));
}

#define HALE_FIELD(type, name) text += field<type>(#name, offsetof(Struct, name));

#define HALE_DESCRIBE(name, fields)  \
    {                                \
        using Struct = name;         \
        text += #name;               \
        fields(HALE_FIELD) text += "\n"; \
    }

std::string fingerprint() {
    std::string text = "functions status:int:4\n";
    HALE_DESCRIBE(Uniformity, HALE_UNIFORMITY)
    HALE_DESCRIBE(Alignment, HALE_ALIGNMENT)
    HALE_DESCRIBE(Turn, HALE_TURN)
    HALE_DESCRIBE(Map, HALE_MAP)
    HALE_DESCRIBE(Rows, HALE_ROWS)
    HALE_DESCRIBE(SumRows, HALE_SUM_ROWS)
    HALE_DESCRIBE(AdamRows, HALE_ADAM_ROWS)
    HALE_DESCRIBE(Draw, HALE_DRAW)
    HALE_DESCRIBE(Find, HALE_FIND)
    HALE_DESCRIBE(Leave, HALE_LEAVE)
    HALE_DESCRIBE(Mask, HALE_MASK)
    HALE_DESCRIBE(Step, HALE_STEP)
    HALE_DESCRIBE(Ranks, HALE_RANKS)
    HALE_DESCRIBE(Pairs, HALE_PAIRS)
    HALE_DESCRIBE(ShardSweep, HALE_SHARD_SWEEP)
    HALE_DESCRIBE(DigitSums, HALE_DIGIT_SUMS)
    HALE_DESCRIBE(Parameter, HALE_PARAMETER)
    return text;
}

}  // namespace

// What functions return; then one line a structure: its name, and of each field name:kind:offset:size.
HALE_EXPORT const char* hale_fingerprint() {
    static const std::string text = fingerprint();
    return text.c_str();
}
