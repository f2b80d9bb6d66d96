// Sums of numbers with a point that no order changes, by their digits.
//
// hale/engine/exact.py tells what they are and why, and is the reference.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common.h"
#include "guard.h"
#include "problems.h"

namespace {

constexpr int kDigit = 24, kLeast = -40, kNotFinite = 127;
constexpr int64_t kColumns = 64;  // of which sums are held at once
constexpr double kUp = 1 << kDigit;
constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: what is added to it is rounded

// The place of the highest digit of numbers up to `most`.
int place_of(double most) {
    int exponent = 0;
    std::frexp(most, &exponent);
    const int place = exponent >= 0 ? exponent / kDigit : -((kDigit - 1 - exponent) / kDigit);
    return most == 0 ? kLeast : std::max(place, kLeast);
}

}  // namespace

// Digits of float64 parts (c, rows, k) summed over the parts, and their places. Sums of digits are
// whole numbers far below 2^53, so that float64 holds them in any order.
HALE_EXPORT int32_t hale_digit_sums(const DigitSums* ask) {
    const int64_t size = ask->rows * ask->k;
#pragma omp parallel for schedule(static) num_threads(std::max(1, ask->threads))
    for (int64_t row = 0; row < ask->rows; ++row) {
        int64_t first = row * ask->k;
        for (int64_t run = 0; run < ask->runs; ++run) {
            const int64_t width = ask->widths[run];
            const double* parts = ask->parts + first;
            double most = 0;
            bool finite = true;
            for (int64_t c = 0; c < ask->c; ++c) {
                for (int64_t k = 0; k < width; ++k) {
                    const double x = std::fabs(parts[c * size + k]);
                    finite &= x <= std::numeric_limits<double>::max();
                    most = x > most ? x : most;
                }
            }
            const int place = finite ? place_of(most) : kNotFinite;
            ask->places[row * ask->runs + run] = static_cast<int8_t>(place);
            const double over = finite ? std::ldexp(1.0, -kDigit * place) : 0.0;
            for (int64_t start = 0; start < width; start += kColumns) {
                const int64_t count = std::min(kColumns, width - start);
                double sums[3][kColumns] = {};
                for (int64_t c = 0; c < ask->c && finite; ++c) {
                    for (int64_t k = 0; k < count; ++k) {
                        double rest = parts[c * size + start + k] * over;  // exact, as is all below
                        double digit = (rest + kRound) - kRound;
                        sums[0][k] += digit;
                        rest = (rest - digit) * kUp;
                        digit = (rest + kRound) - kRound;
                        sums[1][k] += digit;
                        rest = (rest - digit) * kUp;
                        sums[2][k] += (rest + kRound) - kRound;
                    }
                }
                for (int64_t i = 0; i < 3; ++i) {
                    int32_t* to = ask->digits + i * size + first + start;
                    for (int64_t k = 0; k < count; ++k) to[k] = static_cast<int32_t>(sums[i][k]);
                }
            }
            first += width;
        }
    }
    return kDone;  // nothing here asks for memory
}
