#include <array>
#include <cstdint>
#include <memory>
#include <stoker/dataset/fields.hpp>
#include <stoker/tensor/tensor.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::detail::count_initialisers;
using stoker::detail::field_count;
using stoker::detail::field_name;
using stoker::detail::field_number;
using stoker::detail::field_type;
using stoker::detail::has_c_array;

struct inner {
    float x;
    std::array<float, 2> y;
};
struct sample {
    bool first = true;
    inner nested;
    std::unique_ptr<int> move_only;
    std::string text;
    std::vector<inner> many;
    stoker::tensor<std::uint8_t, 224, 224, 3> pixels;
    const int constant = 3;
    inner another;
    inner _last9;
};
template <class T>
struct generic {
    T one_and_only;
};
struct empty {};
struct sixteen {
    int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct with_array {
    int label;
    float position[3];
};
struct with_array_of_structs {
    inner pair[2];
    int label;
};

static_assert(field_count<sample> == 9);
static_assert(std::is_same_v<field_type<sample, 1>, inner>);
static_assert(std::is_same_v<field_type<sample, 6>, const int>);
static_assert(field_name<sample, 0> == "first");
static_assert(field_name<sample, 5> == "pixels");
static_assert(field_name<sample, 8> == "_last9");
static_assert(field_name<generic<sample>, 0> == "one_and_only");
static_assert(field_count<sixteen> == 16 && field_name<sixteen, 15> == "p");
static_assert(count_initialisers<empty>() == 0);

template <class S>
constexpr bool c_array =
    has_c_array<S, count_initialisers<S>()>(std::make_index_sequence<count_initialisers<S>()>{});
static_assert(c_array<with_array>);
static_assert(c_array<with_array_of_structs>);
static_assert(!c_array<sample>);
static_assert(!c_array<sixteen>);

}  // namespace

TEST_CASE("A struct that is local to a function has names too", "[dataset]") {
    struct local {
        int alpha;
        stoker::tensor<float, 2> beta;
    };
    static_assert(field_name<local, 0> == "alpha");
    const auto in_lambda = [] {
        struct deeper {
            int gamma_1;
        };
        return field_name<deeper, 0>;
    };
    CHECK(field_name<local, 1> == "beta");
    CHECK(in_lambda() == "gamma_1");
}

TEST_CASE("A member pointer is found among members of its type", "[dataset]") {
    CHECK(field_number(&sample::first) == 0);
    CHECK(field_number(&sample::nested) == 1);
    CHECK(field_number(&sample::pixels) == 5);
    CHECK(field_number(&sample::another) == 7);
    CHECK(field_number(&sample::_last9) == 8);
    CHECK(field_number(&sixteen::p) == 15);
}

TEST_CASE("A field is the member itself", "[dataset]") {
    sample one{};
    CHECK(&stoker::detail::field<7>(one) == &one.another);
    stoker::detail::field<3>(one) = "changed";
    CHECK(one.text == "changed");
}
