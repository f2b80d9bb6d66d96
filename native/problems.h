// What each function of the kernel is asked for and gives back, field by field as
// hale/engine/library.py has it.
#pragma once

#include <cstdint>

enum Activation : int32_t { kHanon, kHalin, kXExp, kDouble, kArctanh, kIdentity };

// The uniformity term over all entities.
struct Uniformity {
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

// The alignment term of positives.
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

// Query vectors of the models that rotate.
struct Turn {
    int64_t b, d, stride;   // rows, dimensions (even), numbers from one row of vectors to the next
    int64_t relations;      // rows of the tables
    const float* vectors;   // (b, stride), of which the first d are read
    const int64_t* which;   // (b,) the relation of a row
    const float* turns;     // (relations, d)
    const float* shifts;    // (relations, d), or null
    const float* alphas;    // (relations,), or null; only beside shifts
    int32_t threads;
    float* queries;           // (b, d) written by hale_turn
    const float* by_queries;  // (b, d) the rest is for hale_turn_back
    float* by_vectors;        // (b, d)
    float* by_turns;          // (relations, d)
    float* by_shifts;         // (relations, d), or null
    float* by_alphas;         // (relations,), or null
};

// Rows that are added to a table.
struct Rows {
    int64_t b, d;
    float* table;        // (n, d) added to
    const int64_t* ids;  // (b,) rows of the table
    const float* rows;   // (b, d)
    int32_t threads;
};
