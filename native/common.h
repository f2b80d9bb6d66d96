// What the sources of the kernel share.
#pragma once

#include <cstdint>

#if defined(_OPENMP)
extern "C" int omp_get_thread_num(void);
extern "C" int omp_get_num_threads(void);
#else
static inline int omp_get_thread_num() { return 0; }
static inline int omp_get_num_threads() { return 1; }
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define HALE_EXPORT extern "C" __attribute__((visibility("default")))

#include "guard.h"
