#include <memory>
#include <stoker/core/error.hpp>
#include <stoker/dataset/size_of.hpp>
#include <vector>

#include "support/catch.hpp"

using stoker::detail::size_of;

TEST_CASE("A dataset is as large as it says, a range or behind a pointer too", "[dataset]") {
    std::vector<float> numbers(7);
    CHECK(size_of(numbers) == 7);
    auto shared = std::make_shared<std::vector<float>>(5);
    CHECK(size_of(shared) == 5);
}

TEST_CASE("A null pointer is an error before anything is built on it", "[dataset]") {
    std::shared_ptr<std::vector<float>> nothing;
    CHECK_THROWS_WITH(size_of(nothing), Catch::Matchers::ContainsSubstring("null"));
}
