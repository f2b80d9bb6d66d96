// What each function of the kernel is asked for and gives back.
//
// hale/engine/structures.py has the same structures, field by field. Each is written down once, as
// a list: the struct is made from it, and the fingerprint by which Python knows that its fields
// are these (fingerprint.cpp).
#pragma once

#include <cstdint>

enum Activation : int32_t { kHanon, kHalin, kXExp, kDouble, kArctanh, kIdentity };

#define HALE_DECLARE(type, name) type name;

// The uniformity term over all entities.
#define HALE_UNIFORMITY(FIELD)                                                              \
    FIELD(int64_t, m)                /* queries */                                          \
    FIELD(int64_t, n)                /* entities */                                         \
    FIELD(int64_t, d)                /* dimensions */                                       \
    FIELD(const float*, queries)     /* (m, d) */                                           \
    FIELD(const float*, entities)    /* (n, d) */                                           \
    FIELD(const float*, scale)       /* (m,) */                                             \
    FIELD(int32_t, activation)                                                              \
    FIELD(float, beta)                                                                      \
    FIELD(const float*, gammas)      /* (m,) bounds of the activation, query by query */    \
    FIELD(const int64_t*, left_out)  /* entities left out, query by query, ascending */     \
    FIELD(const int64_t*, left_from) /* (m + 1,) where those of a query begin */            \
    FIELD(float, share)              /* weight of a query in the value: 1 / their number */ \
    FIELD(int32_t, add)              /* add to by_entity instead of writing it */           \
    FIELD(int32_t, threads)                                                                 \
    FIELD(float*, workspace)         /* workspace_size() floats; null: no gradients */      \
    FIELD(double*, logs)             /* (m,) log Z_i */                                     \
    FIELD(float*, by_query)          /* (m, d) */                                           \
    FIELD(float*, by_entity)         /* (n, d) */                                           \
    FIELD(float*, by_scale)          /* (m,) */

struct Uniformity {
    HALE_UNIFORMITY(HALE_DECLARE)
};

// The alignment term of positives.
#define HALE_ALIGNMENT(FIELD)                                              \
    FIELD(int64_t, b)             /* positives */                          \
    FIELD(int64_t, d)             /* dimensions */                         \
    FIELD(const float*, queries)  /* (b, d) */                             \
    FIELD(const float*, entities) /* (n, d) */                             \
    FIELD(const float*, scale)    /* (b,) */                               \
    FIELD(const int64_t*, tails)  /* (b,) rows of entities */              \
    FIELD(int32_t, activation)                                             \
    FIELD(float, beta)                                                     \
    FIELD(const float*, gammas)   /* (b,) bounds */                        \
    FIELD(int32_t, square)        /* whether the sum is of a_i^2 */        \
    FIELD(float, share)           /* weight of each positive in the sum */ \
    FIELD(int32_t, threads)                                                \
    FIELD(float*, activated)      /* (b,) a_i */                           \
    FIELD(float*, by_query)       /* (b, d) */                             \
    FIELD(float*, by_entity)      /* (n, d) added to */                    \
    FIELD(float*, by_scale)       /* (b,) */

struct Alignment {
    HALE_ALIGNMENT(HALE_DECLARE)
};

// Query vectors of the models that rotate.
#define HALE_TURN(FIELD)                                                              \
    FIELD(int64_t, b)               /* rows */                                        \
    FIELD(int64_t, d)               /* dimensions (even) */                           \
    FIELD(int64_t, stride)          /* numbers from one row of vectors to the next */ \
    FIELD(int64_t, relations)       /* rows of the tables */                          \
    FIELD(const float*, vectors)    /* (b, stride), of which the first d are read */  \
    FIELD(const int64_t*, which)    /* (b,) the relation of a row */                  \
    FIELD(const float*, turns)      /* (relations, d) */                              \
    FIELD(const float*, shifts)     /* (relations, d), or null */                     \
    FIELD(const float*, alphas)     /* (relations,), or null; only beside shifts */   \
    FIELD(int32_t, threads)                                                           \
    FIELD(float*, queries)          /* (b, d) written by hale_turn */                 \
    FIELD(const float*, by_queries) /* (b, d) the rest is for hale_turn_back */       \
    FIELD(float*, by_vectors)       /* (b, d) */                                      \
    FIELD(float*, by_turns)         /* (relations, d) */                              \
    FIELD(float*, by_shifts)        /* (relations, d), or null */                     \
    FIELD(float*, by_alphas)        /* (relations,), or null */

struct Turn {
    HALE_TURN(HALE_DECLARE)
};

// Rows that are added to a table.
#define HALE_ROWS(FIELD)                                    \
    FIELD(int64_t, b)          /* rows */                   \
    FIELD(int64_t, d)          /* dimensions */             \
    FIELD(float*, table)       /* (n, d) added to */        \
    FIELD(const int64_t*, ids) /* (b,) rows of the table */ \
    FIELD(const float*, rows)  /* (b, d) */                 \
    FIELD(int32_t, threads)

struct Rows {
    HALE_ROWS(HALE_DECLARE)
};

// How many entities score above, and at or above, a threshold of each query.
#define HALE_RANKS(FIELD)                                                       \
    FIELD(int64_t, m)                /* queries */                              \
    FIELD(int64_t, n)                /* entities, below 2^31 */                 \
    FIELD(int64_t, d)                /* dimensions */                           \
    FIELD(const float*, queries)     /* (m, d) */                               \
    FIELD(const float*, entities)    /* (n, d) */                               \
    FIELD(const float*, own)         /* (m,) added to all scores of a query */  \
    FIELD(const float*, biases)      /* (n,) of the entities, or null */        \
    FIELD(int32_t, by_distance)      /* squared distances, or inner products */ \
    FIELD(int32_t, threads)                                                     \
    FIELD(const float*, thresholds)  /* (m,) */                                 \
    FIELD(int64_t*, higher)          /* (m,) */                                 \
    FIELD(int64_t*, no_lower)        /* (m,) */                                 \
    FIELD(int32_t*, finite)          /* (m,) whether all scores were */

struct Ranks {
    HALE_RANKS(HALE_DECLARE)
};

// The scores of some pairs of queries and entities, bit by bit those that are counted.
#define HALE_PAIRS(FIELD)                                                     \
    FIELD(int64_t, count)           /* pairs */                               \
    FIELD(int64_t, d)               /* dimensions */                          \
    FIELD(const float*, queries)    /* (m, d) */                              \
    FIELD(const float*, entities)   /* (n, d) */                              \
    FIELD(const float*, own)        /* (m,) added to all scores of a query */ \
    FIELD(const float*, biases)     /* (n,) of the entities, or null */       \
    FIELD(int32_t, by_distance)                                               \
    FIELD(int32_t, threads)                                                   \
    FIELD(const int64_t*, rows)     /* (count,) queries */                    \
    FIELD(const int64_t*, columns)  /* (count,) entities */                   \
    FIELD(float*, scores)           /* (count,) */

struct Pairs {
    HALE_PAIRS(HALE_DECLARE)
};
