// Memory that is refused, for tests: preloaded, it lets the n-th `new` from now on fail.
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> calls{0}, fails_at{0};
static std::atomic<bool> watching{false};

extern "C" void failing_arm(long n) {
    calls = 0;
    fails_at = n;
}
extern "C" void failing_watch(int on) { watching = on != 0; }
extern "C" long failing_count() { return calls; }

static void* checked(void* memory) {
    if (!memory) throw std::bad_alloc();
    return memory;
}

static void count() {
    if (watching && ++calls == fails_at) throw std::bad_alloc();
}

void* operator new(std::size_t size) {
    count();
    return checked(std::malloc(size ? size : 1));
}

void* operator new(std::size_t size, std::align_val_t line) {
    count();
    const std::size_t at = static_cast<std::size_t>(line);
    return checked(std::aligned_alloc(at, (size + at - 1) / at * at));
}
