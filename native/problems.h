// What each function of the kernel is asked for and gives back.
//
// hale/engine/structures.py has the same structures, field by field. Each is written down once, as
// a list: the struct is made from it, and the fingerprint by which Python knows that its fields
// are these (fingerprint.cpp).
#pragma once

#include <cstdint>

enum Activation : int32_t { kHanon, kHalin, kXExp, kDouble, kArctanh, kIdentity, kSigmoid, kSpline };

#define HALE_DECLARE(type, name) type name;

// The uniformity term over all entities, or over a block of them that stands for all.
#define HALE_UNIFORMITY(FIELD)                                                              \
    FIELD(int64_t, m)                /* queries */                                          \
    FIELD(int64_t, n)                /* entities */                                         \
    FIELD(int64_t, d)                /* dimensions */                                       \
    FIELD(const float*, queries)     /* (m, d) */                                           \
    FIELD(const float*, entities)    /* (n, d) */                                           \
    FIELD(const float*, scale)       /* (m,) */                                             \
    FIELD(int32_t, activation)                                                              \
    FIELD(float, beta)                                                                      \
    FIELD(const float*, shape)       /* of an activation that has a free one, or null */    \
    FIELD(const float*, gammas)      /* (m,) bounds of the activation, query by query */    \
    FIELD(const int64_t*, left_out)  /* entities left out, query by query, ascending */     \
    FIELD(const int64_t*, left_from) /* (m + 1,) where those of a query begin */            \
    FIELD(double, ratio)             /* of all entities to those summed over */             \
    FIELD(const double*, bases)      /* (m,) added to the sums, or null */                  \
    FIELD(const double*, others)     /* (m,) log of one more term each, or null */          \
    FIELD(float, share)              /* weight of a query in the value: 1 / their number */ \
    FIELD(int32_t, add)              /* add to by_entity instead of writing it */           \
    FIELD(int32_t, threads)                                                                 \
    FIELD(float*, workspace)         /* workspace_size() floats; null: no gradients */      \
    FIELD(double*, logs)             /* (m,) log Z_i */                                     \
    FIELD(float*, by_query)          /* (m, d) */                                           \
    FIELD(float*, by_entity)         /* (n, d) */                                           \
    FIELD(float*, by_scale)          /* (m,) */                                             \
    FIELD(double*, by_others)        /* (m,), or null */                                    \
    FIELD(double*, phases)           /* (3,) seconds of gathering, meeting and scattering, or null */

struct Uniformity {
    HALE_UNIFORMITY(HALE_DECLARE)
};

// The alignment term of positives.
#define HALE_ALIGNMENT(FIELD)                                             \
    FIELD(int64_t, b)            /* positives */                          \
    FIELD(int64_t, d)            /* dimensions */                         \
    FIELD(const float*, queries) /* (b, d) */                             \
    FIELD(const float*, tails)   /* (b, d) */                             \
    FIELD(const float*, scale)   /* (b,) */                               \
    FIELD(int32_t, activation)                                            \
    FIELD(float, beta)                                                    \
    FIELD(const float*, shape)   /* as in Uniformity */                   \
    FIELD(const float*, gammas)  /* (b,) bounds */                        \
    FIELD(int32_t, square)       /* whether the sum is of a_i^2 */        \
    FIELD(float, share)          /* weight of each positive in the sum */ \
    FIELD(int32_t, threads)                                               \
    FIELD(float*, activated)     /* (b,) a_i */                           \
    FIELD(float*, by_query)      /* (b, d) */                             \
    FIELD(float*, by_tail)       /* (b, d) */                             \
    FIELD(float*, by_scale)      /* (b,) */

struct Alignment {
    HALE_ALIGNMENT(HALE_DECLARE)
};

// Query vectors of the models that rotate.
#define HALE_TURN(FIELD)                                                              \
    FIELD(int64_t, b)               /* rows */                                        \
    FIELD(int64_t, d)               /* dimensions (even) */                           \
    FIELD(int64_t, stride)          /* numbers from one row of vectors to the next */ \
    FIELD(int64_t, width)           /* the same of queries and gradients by row */    \
    FIELD(int64_t, relations)       /* rows of the tables */                          \
    FIELD(const float*, vectors)    /* (b, stride), of which the first d are read */  \
    FIELD(const int64_t*, which)    /* (b,) the relation of a row */                  \
    FIELD(const float*, turns)      /* (relations, d) */                              \
    FIELD(const float*, shifts)     /* (relations, d), or null */                     \
    FIELD(const float*, alphas)     /* (relations,), or null; only beside shifts */   \
    FIELD(int32_t, threads)                                                           \
    FIELD(float*, queries)          /* (b, width) written by hale_turn */             \
    FIELD(const float*, by_queries) /* (b, width) the rest is for hale_turn_back */   \
    FIELD(float*, by_vectors)       /* (b, width) */                                  \
    FIELD(float*, by_turns)         /* (relations, d) */                              \
    FIELD(float*, by_shifts)        /* (relations, d), or null */                     \
    FIELD(float*, by_alphas)        /* (relations,), or null */

struct Turn {
    HALE_TURN(HALE_DECLARE)
};

// Query vectors of the model whose relations are affine maps in blocks.
#define HALE_MAP(FIELD)                                                               \
    FIELD(int64_t, b)               /* rows */                                        \
    FIELD(int64_t, d)               /* dimensions, a multiple of k */                 \
    FIELD(int64_t, k)               /* of the k x k blocks */                         \
    FIELD(int64_t, stride)          /* numbers from one row of vectors to the next */ \
    FIELD(int64_t, width)           /* the same of queries and gradients by row */    \
    FIELD(int64_t, relations)       /* rows of the tables */                          \
    FIELD(const float*, vectors)    /* (b, stride), of which the first d are read */  \
    FIELD(const int64_t*, which)    /* (b,) the relation of a row */                  \
    FIELD(const float*, maps)       /* (relations, d, k) rows of the blocks */        \
    FIELD(const float*, shifts)     /* (relations, d) */                              \
    FIELD(int32_t, threads)                                                           \
    FIELD(float*, queries)          /* (b, width) written by hale_map */              \
    FIELD(const float*, by_queries) /* (b, width) the rest is for hale_map_back */    \
    FIELD(float*, by_vectors)       /* (b, width) */                                  \
    FIELD(float*, by_maps)          /* (relations, d, k) */                           \
    FIELD(float*, by_shifts)        /* (relations, d) */

struct Map {
    HALE_MAP(HALE_DECLARE)
};

// Rows of a table: looked up by hale_gather_rows, added by hale_add_rows.
#define HALE_ROWS(FIELD)                                    \
    FIELD(int64_t, b)          /* rows */                   \
    FIELD(int64_t, d)          /* dimensions */             \
    FIELD(float*, table)       /* (n, d) read, or added to */ \
    FIELD(const int64_t*, ids) /* (b,) rows of the table */ \
    FIELD(float*, rows)        /* (b, d) written, or read */ \
    FIELD(int32_t, threads)

struct Rows {
    HALE_ROWS(HALE_DECLARE)
};

// Rows that belong to rows of a table, in several parts, summed up by the row that they belong to.
#define HALE_SUM_ROWS(FIELD)                                             \
    FIELD(int64_t, parts)                                                \
    FIELD(int64_t, d)                 /* dimensions */                   \
    FIELD(const int64_t*, counts)     /* (parts,) rows of a part */      \
    FIELD(const int64_t* const*, ids) /* (parts,) each (count,) */       \
    FIELD(const float* const*, rows)  /* (parts,) each (count, d) */     \
    FIELD(int32_t, threads)                                              \
    FIELD(int64_t*, count)            /* how many different ids */       \
    FIELD(int64_t*, touched)          /* (count,) those ids, ascending */ \
    FIELD(float*, summed)             /* (count, d) */

struct SumRows {
    HALE_SUM_ROWS(HALE_DECLARE)
};

// Adam on some rows of a table, each from where it would be by now (lag.h).
#define HALE_ADAM_ROWS(FIELD)                                                      \
    FIELD(int64_t, b)              /* rows */                                      \
    FIELD(int64_t, d)              /* dimensions */                                \
    FIELD(const int64_t*, ids)     /* (b,) none twice */                           \
    FIELD(const float*, gradients) /* (b, d); null: the rows catch up, no more, and ids may repeat \
                                      or be null, the first b rows */              \
    FIELD(float*, table)           /* (n, d) */                                    \
    FIELD(float*, means)           /* (n, d) */                                    \
    FIELD(float*, squares)         /* (n, d) */                                    \
    FIELD(int32_t*, last)          /* (n,) the step that touched a row last */     \
    FIELD(const float*, due)       /* (step + 1,) */                               \
    FIELD(int64_t, step)           /* steps before this one */                     \
    FIELD(float, first)            /* 1 - beta1 */                                 \
    FIELD(float, second)           /* 1 - beta2 */                                 \
    FIELD(float, rate)             /* with both corrections */                     \
    FIELD(float, eps)                                                              \
    FIELD(int32_t, threads)

struct AdamRows {
    HALE_ADAM_ROWS(HALE_DECLARE)
};

// A block of entities that is drawn.
#define HALE_DRAW(FIELD)                                             \
    FIELD(int64_t, n)             /* entities */                     \
    FIELD(int64_t, s)             /* entities of the block */        \
    FIELD(int64_t, start)         /* its place in the permutation */ \
    FIELD(const uint32_t*, keys)  /* (6,) of the rounds */           \
    FIELD(int64_t*, ids)          /* (s,) ascending */

struct Draw {
    HALE_DRAW(HALE_DECLARE)
};

// Where ids stand in a block.
#define HALE_FIND(FIELD)                                        \
    FIELD(int64_t, s)             /* entities of the block */   \
    FIELD(int64_t, count)         /* ids that are looked for */ \
    FIELD(const int64_t*, block)  /* (s,) none twice */         \
    FIELD(const int64_t*, wanted) /* (count,) */                \
    FIELD(int64_t*, places)       /* (count,) -1 for no place */

struct Find {
    HALE_FIND(HALE_DECLARE)
};

// What the sums of queries leave out, in a block.
#define HALE_LEAVE(FIELD)                                                      \
    FIELD(int64_t, m)               /* queries */                              \
    FIELD(int64_t, s)               /* entities of the block */                \
    FIELD(int64_t, known)           /* queries that have known answers */      \
    FIELD(int64_t, width)           /* a query's key is head * width + relation */ \
    FIELD(const int64_t*, heads)    /* (m,) */                                 \
    FIELD(const int64_t*, relations) /* (m,) */                                \
    FIELD(const bool*, ruled_out)   /* (m,) whether the head is, or null */    \
    FIELD(const int64_t*, block)    /* (s,) ascending */                       \
    FIELD(const int64_t*, keys)     /* (known,) ascending */                   \
    FIELD(const int32_t*, offsets)  /* (known + 1,) where its answers begin */ \
    FIELD(const int32_t*, answers)  /* entities, ascending for each query */   \
    FIELD(int64_t, room)            /* for so many places; more are counted alone */ \
    FIELD(int64_t*, places)         /* (room,) in the block, query by query */ \
    FIELD(int64_t*, begins)         /* (m + 1,) where those of a query begin */ \
    FIELD(int64_t*, counts)         /* (m,) left out in all */

struct Leave {
    HALE_LEAVE(HALE_DECLARE)
};

// Dropout: entries of a table that are zeroed, the others stretched.
#define HALE_MASK(FIELD)                                          \
    FIELD(int32_t, lost)  /* of 65,536 */                         \
    FIELD(int32_t, key)   /* of the draws */                      \
    FIELD(int64_t, count) /* numbers */                           \
    FIELD(float*, mask)   /* (count,) 0, or 65536 / (65536 - lost) */ \
    FIELD(int32_t, threads)

struct Mask {
    HALE_MASK(HALE_DECLARE)
};

// A table of relations that Adam moves as a whole; no values where a model has none such.
#define HALE_PARAMETER(FIELD)                                         \
    FIELD(float*, values)  /* moved, and so are the next two */       \
    FIELD(float*, means)                                              \
    FIELD(float*, squares)                                            \
    FIELD(float, rate)     /* over 1 - beta1^t */                     \
    FIELD(float, root)     /* of 1 - beta2^t, by which sqrt(v) is divided */

struct Parameter {
    HALE_PARAMETER(HALE_DECLARE)
};

// A whole step of HaLE with a model that rotates or maps: loss, gradients, and the rows that it moves.
#define HALE_STEP(FIELD)                                                               \
    FIELD(int64_t, b)               /* positives */                                    \
    FIELD(int64_t, m)               /* queries drawn */                                \
    FIELD(int64_t, s)               /* entities of the block */                        \
    FIELD(int64_t, d)               /* numbers of an entity: dim, or one more */       \
    FIELD(int64_t, dim)             /* numbers that are turned or mapped */            \
    FIELD(int64_t, k)               /* of the k x k blocks of maps; 0 for turns */     \
    FIELD(int64_t, relations)                                                          \
    FIELD(const int64_t*, triples)  /* (b, 3) */                                       \
    FIELD(const int64_t*, drawn)    /* (m,) places in the batch, none twice */         \
    FIELD(const int64_t*, block)    /* (s,) */                                         \
    FIELD(const int64_t*, left_out) /* places in the block, query by query */          \
    FIELD(const int64_t*, left_from) /* (m + 1,) */                                    \
    FIELD(float*, table)            /* (n, d) moved, and so are the next two */        \
    FIELD(float*, means)            /* (n, d) */                                       \
    FIELD(float*, squares)          /* (n, d) */                                       \
    FIELD(int32_t*, last)           /* (n,) and the next two: as in AdamRows */        \
    FIELD(const float*, due)                                                           \
    FIELD(int64_t, step)                                                               \
    FIELD(const Parameter*, parameters) /* (5,) turns, shifts, alphas, free scales, maps */ \
    FIELD(const float*, gammas)     /* (relations,) bounds */                          \
    FIELD(int32_t, activation)                                                         \
    FIELD(float, beta)                                                                 \
    FIELD(const float*, shape)      /* as in Uniformity */                             \
    FIELD(float, weight)            /* of alignment */                                 \
    FIELD(int32_t, square)                                                             \
    FIELD(double, ratio)            /* and bases: as in Uniformity */                  \
    FIELD(const double*, bases)                                                        \
    FIELD(int32_t, lost)            /* of 65,536 coordinates of a query, by dropout */ \
    FIELD(int32_t, key)             /* of the draws of dropout */                      \
    FIELD(float, first)             /* the rest of Adam: as in AdamRows */             \
    FIELD(float, second)                                                               \
    FIELD(float, rate)                                                                 \
    FIELD(float, eps)                                                                  \
    FIELD(int32_t, threads)                                                            \
    FIELD(double*, values)          /* (3,) alignment, uniformity, whether it moved */

struct Step {
    HALE_STEP(HALE_DECLARE)
};

// How many entities score above, and at or above, a threshold of each query; those that are marked,
// a threshold of their own.
#define HALE_RANKS(FIELD)                                                         \
    FIELD(int64_t, m)                /* queries */                                \
    FIELD(int64_t, n)                /* entities, below 2^31 */                   \
    FIELD(int64_t, d)                /* dimensions */                             \
    FIELD(const float*, queries)     /* (m, d) */                                 \
    FIELD(const float*, entities)    /* (n, d) */                                 \
    FIELD(const float*, own)         /* (m,) added to all scores of a query */    \
    FIELD(const float*, biases)      /* (n,) of the entities, or null */          \
    FIELD(int32_t, by_distance)      /* squared distances, or inner products */   \
    FIELD(int32_t, threads)                                                       \
    FIELD(const float*, thresholds)  /* (m,) */                                   \
    FIELD(const uint8_t*, marks)     /* (n,) 1 where marked, or null: none is */  \
    FIELD(const float*, marked)      /* (m,) thresholds of the marked, or null */ \
    FIELD(int64_t*, higher)          /* (m,) */                                   \
    FIELD(int64_t*, no_lower)        /* (m,) */                                   \
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

// A sweep over the entities of one rank, shard by shard.
#define HALE_SHARD_SWEEP(FIELD)                                                            \
    FIELD(const Uniformity*, sweep)  /* of its fields those of queries, entities, threads */ \
    FIELD(const int64_t*, begins)    /* (shards + 1,) where shards begin among the entities */ \
    FIELD(int64_t, shards)                                                                 \
    FIELD(int32_t*, bounded)         /* told whether weights need no floor */               \
    FIELD(float*, floors)            /* (m,) h at the nearest entity; infinite for none */  \
    FIELD(double*, parts)            /* (shards, m, 3 + d) sums of w, g, g x and g e */     \
    FIELD(const double*, shares)     /* (m,) of each w in the value */

struct ShardSweep {
    HALE_SHARD_SWEEP(HALE_DECLARE)
};

// Sums of parts by their digits, of which each run of columns of a row has the same places.
#define HALE_DIGIT_SUMS(FIELD)                                           \
    FIELD(int64_t, c)             /* parts, at most 255 */               \
    FIELD(int64_t, rows)                                                 \
    FIELD(int64_t, k)             /* columns */                          \
    FIELD(int64_t, runs)                                                 \
    FIELD(const double*, parts)   /* (c, rows, k) */                     \
    FIELD(const int64_t*, widths) /* (runs,) of k columns */             \
    FIELD(int8_t*, places)        /* (rows, runs) of the highest digit */ \
    FIELD(int32_t*, digits)       /* (3, rows, k) */                     \
    FIELD(int32_t, threads)

struct DigitSums {
    HALE_DIGIT_SUMS(HALE_DECLARE)
};
