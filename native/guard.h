// Want of memory: told by every function that Python calls, never an abort.
//
// An exception may leave neither a function of C nor a thread of a parallel region: either would
// end the process. So it is caught there, and told by what the function returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>

namespace {

// What a function returns; hale/engine/library.py has the same numbers.
enum Status : int32_t { kDone = 0, kNoMemory = 1, kFailed = 2 };

// The body of a function that Python calls.
template <class Body>
Status told(Body&& body) noexcept {
    try {
        body();
        return kDone;
    } catch (const std::bad_alloc&) {
        return kNoMemory;
    } catch (const std::length_error&) {  // more than a vector can ever have
        return kNoMemory;
    } catch (...) {
        return kFailed;
    }
}

// A function called by another: its want is the caller's.
inline void must(int32_t status) {
    if (status == kNoMemory) throw std::bad_alloc();
    if (status != kDone) throw std::runtime_error("a function of the kernel failed");
}

// What the threads of a region share of their status: the first that lacked something counts.
class Trouble {
   public:
    template <class Body>
    void in(Body&& body) noexcept {
        const Status status = told(body);
        int32_t none = kDone;
        if (status != kDone) first.compare_exchange_strong(none, status);
    }
    bool found() const { return first.load() != kDone; }
    // After the region.
    void check() const { must(first.load()); }

   private:
    std::atomic<int32_t> first{kDone};
};

}  // namespace
