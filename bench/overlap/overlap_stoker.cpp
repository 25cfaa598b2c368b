// The feed as it is: copies run while steps do.
#include "overlap/overlap_case.hpp"

int main() {
    bench::measure_overlap(false);
    bench::measure_bytes();
}
