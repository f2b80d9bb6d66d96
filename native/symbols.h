// Which versions of the C library's functions are asked for: the oldest that will do.
//
// PyTorch's own libraries want glibc 2.28. The linker takes the newest exp and log that it finds,
// those of 2.29, which differ from the older ones only in how they tell errors (errno, which nobody
// asks here). CMakeLists.txt puts this file before every source.
#pragma once

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver exp, exp@GLIBC_2.17");
__asm__(".symver log, log@GLIBC_2.17");
#endif
