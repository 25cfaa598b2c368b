#include <stoker/device/prepare_plan.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <stoker/core/error.hpp>
#include <stoker/device/prepare.hpp>
#include "device/host_queue.hpp"
#include "support/catch.hpp"

using namespace stoker;

namespace {

struct sample {
    float weight;
    std::int64_t label;
    ragged<std::uint16_t> tokens;
    std::string path;
};

/// What refusing says; empty when it is made.
template <class Sample, class DeviceSample>
std::string refusal(std::vector<detail::prepare_step> steps = {}) {
    try {
        detail::make_preparation(detail::schema_of<Sample>(), detail::schema_of<DeviceSample>(),
                                 std::move(steps));
    } catch (const error& refused) {
        CHECK(refused.code() == errc::invalid_option);
        return refused.what();
    }
    return {};
}

}  // namespace

TEST_CASE("columns of the same name are filled, whatever they are") {
    struct device_sample {
        ragged<std::int32_t> tokens;
        std::string path;
        f16 weight;
    };
    const auto plan = detail::make_preparation(detail::schema_of<sample>(),
                                               detail::schema_of<device_sample>(), {});
    detail::batch_memory source(detail::schema_of<sample>().columns.size());
    // Two samples, with 3 and 0 tokens and paths of 2 and 1 bytes.
    const std::uint64_t extents[] = {2, 2, 3, 3, 3, 3};
    const std::uint64_t bytes[] = {8, 16, 6, 24, 3, 24};
    REQUIRE(source.records.size() == 6);
    for (std::size_t number = 0; number < 6; ++number)
        source.records[number] = {256 * number, bytes[number], 1, {extents[number]}};
    source.allocate(256 * 6);
    source.column<float>(0)[0] = 0.5f;
    source.column<float>(0)[1] = 1e9f;
    const auto described = detail::schema_of<sample>().columns;
    const bool values_first = described[2].kind == detail::column_kind::values;
    REQUIRE(values_first);
    for (std::uint16_t at = 0; at < 3; ++at)
        source.column<std::uint16_t>(2)[at] = static_cast<std::uint16_t>(65000 + at);
    const std::int64_t offsets[] = {0, 3, 3};
    std::copy_n(offsets, 3, source.column<std::int64_t>(3));

    detail::host_queue queue;
    auto made = detail::prepared_from(*plan, source, queue);
    REQUIRE(made.records.size() == 5);
    CHECK(made.records[0].bytes == 12);
    CHECK(made.column<std::int32_t>(0)[2] == 65002);
    CHECK(made.column<std::int64_t>(1)[1] == 3);
    CHECK(made.records[2].bytes == 3);
    CHECK(static_cast<float>(made.column<f16>(4)[0]) == 0.5f);
    CHECK(static_cast<float>(made.column<f16>(4)[1]) == std::numeric_limits<float>::infinity());
}

TEST_CASE("a batch without any element launches and copies nothing that would be refused") {
    struct device_sample {
        ragged<std::int32_t> tokens;
    };
    const auto plan = detail::make_preparation(detail::schema_of<sample>(),
                                               detail::schema_of<device_sample>(), {});
    detail::batch_memory source(6);
    source.records[2] = {0, 0, 1, {0}};
    source.records[3] = {0, 8, 1, {1}};
    source.allocate(256);
    detail::host_queue queue;
    detail::prepared_from(*plan, source, queue);
    CHECK(queue.kernels.empty());
    CHECK(queue.copied_bytes == 8);
}

TEST_CASE("what does not fit together is refused by name") {
    struct unknown {
        std::int64_t label;
        float score;
    };
    CHECK_THAT((refusal<sample, unknown>()),
               Catch::Contains("score") && Catch::Contains("weight, label, tokens"));
    struct other_type {
        std::int32_t weight;
    };
    CHECK_THAT((refusal<sample, other_type>()),
               Catch::Contains("weight") && Catch::Contains("i32") && Catch::Contains("f32"));
    struct other_shape {
        tensor<float, 2> weight;
    };
    CHECK_THAT((refusal<sample, other_shape>()), Catch::Contains("[2]"));
    struct same {
        float weight;
    };
    CHECK((refusal<sample, same>()).empty());
    CHECK_THAT((refusal<sample, same>({detail::number_step{}, detail::number_step{}})),
               Catch::Contains("two parts fill") && Catch::Contains("weight"));
}

TEST_CASE("a deviation of 0, and what is no finite number, is refused with its channel") {
    const auto says = [](float mean, float deviation) -> std::string {
        detail::image_step step;
        const float means[] = {0.5f, mean};
        const float deviations[] = {0.5f, deviation};
        try {
            detail::set_normalisation(step, means, deviations);
        } catch (const error& refused) {
            CHECK(refused.code() == errc::invalid_option);
            return refused.what();
        }
        CHECK(step.multiply[0] == static_cast<float>(1 / 127.5));
        CHECK(step.add[0] == -1);
        return {};
    };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(says(0, 1).empty());
    CHECK_THAT(says(0, 0), Catch::Contains("channel 1"));
    CHECK_FALSE(says(0, infinity).empty());
    CHECK_FALSE(says(0, 1e-44f).empty());
    CHECK_FALSE(says(infinity, 1).empty());
    CHECK_FALSE(says(std::numeric_limits<float>::quiet_NaN(), 1).empty());
}
