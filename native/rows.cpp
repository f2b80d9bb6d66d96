// Rows that are added to a table.
#include <algorithm>
#include <cstdint>

#include "problems.h"
#include "rows.h"

HALE_EXPORT void hale_add_rows(const Rows* ask) {
#pragma omp parallel num_threads(std::max(1, ask->threads))
    add_rows(ask->table, ask->d, ask->ids, ask->rows, ask->b, 1.0f);
}
