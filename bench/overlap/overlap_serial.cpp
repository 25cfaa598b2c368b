// Copy, step, copy, step: what a loop without a feed does.
#include "overlap/overlap_case.hpp"

int main() {
    bench::measure_overlap(true);
}
