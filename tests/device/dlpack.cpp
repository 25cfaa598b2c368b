#include <stoker/device/dlpack.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stoker/device/borrowed_tensor.hpp>
#include <stoker/stoker.hpp>
#include "support/catch.hpp"

using namespace stoker;

static_assert(!std::is_copy_constructible_v<borrowed_tensor<tensor_view<const float, 3>>>);

namespace {

struct sample {
    tensor<std::uint8_t, 4, 3> pixels;
    std::int64_t label;
    ragged<float> weights;
};

struct samples {
    std::size_t size() const { return 8; }
    sample get(stoker::index i) const {
        sample made;
        made.pixels.fill(static_cast<std::uint8_t>(i));
        made.label = static_cast<std::int64_t>(10 * i);
        made.weights = {static_cast<float>(i)};
        return made;
    }
};

/// What borrowing says against it.
template <class View>
std::string refusal(dlpack_tensor lent) {
    try {
        borrowed_tensor<View> borrowed(std::move(lent));
    } catch (const error& refused) {
        CHECK(refused.code() == errc::invalid_option);
        return refused.what();
    }
    return {};
}

/// A loan of six floats, counted when it ends.
struct lender {
    std::vector<float> values{0, 1, 2, 3, 4, 5};
    int ended = 0;

    dlpack_tensor lend(std::vector<std::uint64_t> shape, std::uint64_t flags = 0) {
        std::shared_ptr<const void> owner(this, [](lender* self) { ++self->ended; });
        return detail::lend(std::move(owner), values.data(), dtype::f32, shape,
                            {dl_device_type::cpu, 0}, flags);
    }
};

}  // namespace

TEST_CASE("columns are lent where they lie, and hold their slot until the last is deleted") {
    loader batches{samples{}, {.batch_size = 2}};
    std::vector<dlpack_tensor> kept;
    for (auto& batch : batches) {
        const std::uint8_t* pixels = batch[&sample::pixels].data();
        auto [image, label, offsets] =
            to_dlpack(std::move(batch), &sample::pixels, &sample::label, "weights.offsets");
        CHECK(image->version.major == 1);
        CHECK(image->flags == dl_managed_tensor::read_only);
        CHECK(image->tensor.data == pixels);
        CHECK(image->tensor.byte_offset == 0);
        CHECK(image->tensor.device.type == dl_device_type::cpu);
        REQUIRE(image->tensor.rank == 3);
        CHECK(std::vector<std::int64_t>(image->tensor.shape, image->tensor.shape + 3) ==
              std::vector<std::int64_t>{2, 4, 3});
        CHECK(std::vector<std::int64_t>(image->tensor.strides, image->tensor.strides + 3) ==
              std::vector<std::int64_t>{12, 3, 1});
        CHECK(image->tensor.type.code == dl_type_code::unsigned_integer);
        CHECK(label->tensor.shape[0] == 2);
        CHECK(offsets->tensor.shape[0] == 3);
        image.reset();
        CHECK(static_cast<const std::int64_t*>(label->tensor.data)[1] % 10 == 0);
        kept.push_back(std::move(label));
        if (kept.size() == 2)
            break;
    }
    REQUIRE(kept.size() == 2);
    CHECK(static_cast<const std::int64_t*>(kept[0]->tensor.data)[1] == 10);
    CHECK(static_cast<const std::int64_t*>(kept[1]->tensor.data)[1] == 30);
    std::thread([&] { kept.clear(); }).join();
}

TEST_CASE("more batches are lent, one after the other, than there are slots, and none is lost") {
    loader batches{samples{}, {.batch_size = 1}};
    for (int epoch = 0; epoch < 4; ++epoch) {
        std::int64_t sum = 0;
        for (auto& batch : batches) {
            borrowed_tensor<tensor_view<const std::int64_t, dynamic>> label(
                to_dlpack(std::move(batch), &sample::label));
            REQUIRE(label);
            sum += label.view()[0];
        }
        CHECK(sum == 280);
    }
}

TEST_CASE("an unknown name is refused, and the batch's slot is free again") {
    loader batches{samples{}, {.batch_size = 1}};
    for (auto& batch : batches)
        CHECK_THROWS_AS(to_dlpack(std::move(batch), "lable"), error);
}

TEST_CASE("what is borrowed is seen as a typed view and given back once") {
    lender owner;
    {
        borrowed_tensor<tensor_view<const float, dynamic, 3>> first(owner.lend({2, 3}));
        CHECK(first.view()(1, 2) == 5);
        CHECK(first.view().data() == owner.values.data());
        auto second = std::move(first);
        CHECK_FALSE(first);
        CHECK(second.view().extent(0) == 2);
        CHECK(owner.ended == 0);
    }
    CHECK(owner.ended == 1);
    borrowed_tensor<tensor_view<float, 6>> writable(owner.lend({6}).release());
    writable.view()[5] = 7;
    CHECK(owner.values[5] == 7);
}

TEST_CASE("an offset and strides that mean nothing are understood") {
    lender owner;
    auto lent = owner.lend({1, 5});
    lent->tensor.byte_offset = 4;
    lent->tensor.strides[0] = 77;
    CHECK(borrowed_tensor<tensor_view<const float, 1, 5>>(std::move(lent)).view()(0, 0) == 1);
    auto unsaid = owner.lend({2, 3});
    unsaid->tensor.strides = nullptr;
    CHECK(borrowed_tensor<tensor_view<const float, 2, 3>>(std::move(unsaid)).view()(1, 0) == 3);
    auto empty = owner.lend({0, 3});
    CHECK(empty->tensor.data == nullptr);
    CHECK(borrowed_tensor<tensor_view<const float, dynamic, 3>>(std::move(empty)).view().size() ==
          0);
}

TEST_CASE("what cannot be borrowed is refused with what it is, and given back all the same") {
    using view = tensor_view<const float, dynamic, 3>;
    lender owner;
    CHECK_THAT((refusal<tensor_view<const double, dynamic, 3>>(owner.lend({2, 3}))),
               Catch::Contains("f32 [2, 3]") && Catch::Contains("f64 [?, 3]"));
    CHECK_THAT(refusal<view>(owner.lend({3, 2})), Catch::Contains("[3, 2]"));
    CHECK_THAT(refusal<view>(owner.lend({6})), Catch::Contains("1 axes"));
    CHECK_THAT((refusal<tensor_view<float, 6>>(owner.lend({6}, dl_managed_tensor::read_only))),
               Catch::Contains("read-only"));
    auto transposed = owner.lend({2, 3});
    transposed->tensor.strides[0] = 1;
    transposed->tensor.strides[1] = 2;
    CHECK_THAT(refusal<view>(std::move(transposed)), Catch::Contains("order of axes"));
    auto on_gpu = owner.lend({2, 3});
    on_gpu->tensor.device = {dl_device_type::cuda, 0};
    CHECK_THAT(refusal<view>(std::move(on_gpu)), Catch::Contains("cannot read"));
    auto newer = owner.lend({2, 3});
    newer->version = {2, 0};
    CHECK_THAT(refusal<view>(std::move(newer)), Catch::Contains("version 2.0"));
    auto vectors = owner.lend({2, 3});
    vectors->tensor.type.lanes = 4;
    CHECK_THAT(refusal<view>(std::move(vectors)), Catch::Contains("x 4"));
    auto crooked = owner.lend({1, 3});
    crooked->tensor.byte_offset = 2;
    CHECK_THAT(refusal<view>(std::move(crooked)), Catch::Contains("aligned"));
    auto negative = owner.lend({2, 3});
    negative->tensor.shape[0] = -2;
    CHECK_FALSE(refusal<view>(std::move(negative)).empty());
    CHECK(owner.ended == 10);
}
