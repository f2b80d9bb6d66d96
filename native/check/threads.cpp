// Threads for the kernel's parallel regions, in place of the compiler's own library: that one is not
// built for the thread sanitizer, which then sees races where threads waited for each other. The
// kernel names no such library, so whatever has these functions will do.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

struct Loop {
    long next, end, step, chunk;
};

struct Team {
    explicit Team(int count) : size(count) {}
    const int size;
    std::mutex lock;
    std::condition_variable met;
    int waiting = 0;
    long round = 0;
    std::map<long, Loop> loops;  // by how many a thread met before it
    std::set<long> singles;
};

struct Member {
    Team* team = nullptr;
    int number = 0;
    long loops = 0, singles = 0;
};

thread_local Member me;
std::mutex critical;

bool take(Loop& loop, long* from, long* to) {
    if (loop.next >= loop.end) return false;
    *from = loop.next;
    *to = std::min(loop.end, loop.next + loop.chunk * loop.step);
    loop.next = *to;
    return true;
}

}  // namespace

extern "C" {

int omp_get_thread_num() { return me.number; }
int omp_get_num_threads() { return me.team ? me.team->size : 1; }

void GOMP_parallel(void (*body)(void*), void* data, unsigned count, unsigned) {
    Team team(count ? static_cast<int>(count) : 1);
    const Member before = me;
    const auto run = [&](int number) {
        me = Member{&team, number};
        body(data);
    };
    std::vector<std::thread> others;
    for (int number = 1; number < team.size; ++number) others.emplace_back(run, number);
    run(0);
    for (std::thread& other : others) other.join();
    me = before;
}

void GOMP_barrier() {
    Team* team = me.team;
    if (!team) return;
    std::unique_lock<std::mutex> held(team->lock);
    const long round = team->round;
    if (++team->waiting == team->size) {
        team->waiting = 0;
        ++team->round;
        team->met.notify_all();
    } else {
        team->met.wait(held, [&] { return team->round != round; });
    }
}

bool GOMP_single_start() {
    if (!me.team) return true;
    const std::lock_guard<std::mutex> held(me.team->lock);
    return me.team->singles.insert(me.singles++).second;
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* from, long* to) {
    const std::lock_guard<std::mutex> held(me.team->lock);
    return take(me.team->loops.at(me.loops - 1), from, to);
}

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long* from,
                                          long* to) {
    const std::lock_guard<std::mutex> held(me.team->lock);
    return take(me.team->loops.try_emplace(me.loops++, Loop{start, end, step, chunk}).first->second,
                from, to);
}

void GOMP_loop_end() { GOMP_barrier(); }
void GOMP_critical_start() { critical.lock(); }
void GOMP_critical_end() { critical.unlock(); }

}  // extern "C"
