#include "device/prepare_on_host.hpp"

#include <cstdint>

#include "device/cast_body.hpp"
#include "device/prepare_body.hpp"

namespace stoker::detail {

bool prepare_on_host(const image_job& job) {
    return visit_image_body(job, [&]<class Body>(Body) {
        const std::uint32_t groups = groups_a_row(job.width);
        for (std::uint32_t sample = 0; sample < job.samples; ++sample) {
            for (std::uint32_t row = 0; row < job.height; ++row) {
                for (std::uint32_t group = 0; group < groups; ++group)
                    Body::make_group(job, sample, row, group);
            }
        }
    });
}

bool prepare_on_host(const cast_job& job) {
    return visit_cast_body(job, [&]<class Body>(Body) {
        const std::uint64_t groups = (job.row_size + elements_a_group - 1) / elements_a_group;
        for (std::uint64_t row = 0; row < job.rows; ++row) {
            for (std::uint64_t group = 0; group < groups; ++group)
                Body::make_group(job, row, group);
        }
    });
}

}  // namespace stoker::detail
