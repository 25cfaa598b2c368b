#include <stoker/device/prepare_plan.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <stoker/core/error.hpp>
#include <stoker/device/cast_rules.hpp>
#include "collate/shape_text.hpp"
#include "device/prepare_call.hpp"
#include "device/prepare_job.hpp"

namespace stoker::detail {
namespace {

std::string quoted(const column& described) {
    return '"' + described.name + "\" (" + std::string(name_of(described.type)) + ' ' +
           shape_text(described.extents) + ')';
}

[[noreturn]] void refuse(std::string text, std::string remedy) {
    throw error({.code = errc::invalid_option,
                 .text = "prepare: " + std::move(text),
                 .remedy = std::move(remedy)});
}

std::string names_of(const schema& columns) {
    std::string names;
    for (const column& each : columns.columns)
        names += (names.empty() ? "" : ", ") + each.name;
    return names;
}

/// The step that fills a device column from that of the same name.
number_step by_name(const schema& source, const schema& target, std::size_t number) {
    const column& wanted = target.columns[number];
    const auto found = std::find_if(source.columns.begin(), source.columns.end(),
                                    [&](const column& each) { return each.name == wanted.name; });
    if (found == source.columns.end()) {
        refuse(
            "nothing fills the device's " + quoted(wanted) + "; batches have " + names_of(source),
            "name it as the sample's member is named, or give a stoker::prepare for it");
    }
    const bool same_type =
        found->type == wanted.type && found->element_bytes == wanted.element_bytes;
    if (found->kind != wanted.kind || found->extents != wanted.extents ||
        !(same_type || can_cast(found->type, wanted.type))) {
        refuse("the device's " + quoted(wanted) + " cannot be filled from the sample's " +
                   quoted(*found),
               "make their types alike, or give a stoker::prepare for it");
    }
    number_step step;
    step.source = static_cast<std::size_t>(found - source.columns.begin());
    step.target = number;
    return step;
}

std::size_t target_of(const prepare_step& step) {
    return std::visit([](const auto& each) { return each.target; }, step);
}

/// Steps in the order of the columns they fill, each of them once.
std::vector<prepare_step> complete(const schema& source, const schema& target,
                                   std::vector<prepare_step> given) {
    std::vector<prepare_step> all;
    for (std::size_t number = 0; number < target.columns.size(); ++number) {
        const auto is_its = [&](const prepare_step& step) { return target_of(step) == number; };
        const auto found = std::find_if(given.begin(), given.end(), is_its);
        if (found == given.end()) {
            all.emplace_back(by_name(source, target, number));
            continue;
        }
        if (std::find_if(found + 1, given.end(), is_its) != given.end()) {
            refuse("two parts fill the device's " + quoted(target.columns[number]),
                   "give one stoker::prepare for each member");
        }
        all.push_back(*found);
    }
    return all;
}

/// Where a batch's column lies, as elements of T.
template <class T>
T* data_of(const column_block& block, std::size_t number) {
    return reinterpret_cast<T*>(block.data + block.records[number].offset);
}

class planned_preparation final : public preparation {
  public:
    planned_preparation(schema source, schema target, std::vector<prepare_step> steps)
        : source_(std::move(source)), target_(std::move(target)), steps_(std::move(steps)) {}

    std::size_t column_count() const override { return target_.columns.size(); }

    std::uint64_t lay_out(const column_record* source, column_record* prepared) const override {
        for (const prepare_step& step : steps_) {
            std::visit([&](const auto& each) { set_shape(each, source, prepared); }, step);
            const std::size_t number = target_of(step);
            set_bytes(prepared[number], target_.columns[number]);
        }
        return place_columns(target_.columns, prepared);
    }

    void enqueue(kernel_queue& queue, const column_block& source,
                 const column_block& prepared) const override {
        for (const prepare_step& step : steps_)
            std::visit([&](const auto& each) { enqueue(queue, each, source, prepared); }, step);
    }

  private:
    void set_shape(const image_step& step, const column_record* source,
                   column_record* prepared) const {
        const column_record& images = source[step.source];
        const bool fits = images.extents[1] == step.height && images.extents[2] == step.width;
        const bool countable = images.extents[0] <= 0xffffffffu &&
                               images.extents[1] <= most_pixels_a_side &&
                               images.extents[2] <= most_pixels_a_side;
        if (!(fits || step.cropped) || !countable)
            refuse_images(step, images);
        take_extents(target_.columns[step.target], images.extents[0], prepared[step.target]);
    }
    void set_shape(const number_step& step, const column_record* source,
                   column_record* prepared) const {
        const column_record& numbers = source[step.source];
        if (step.is_window) {
            take_extents(target_.columns[step.target], numbers.extents[0], prepared[step.target]);
        } else {
            prepared[step.target].rank = numbers.rank;
            prepared[step.target].extents = numbers.extents;
            check_extents(step, numbers);
        }
    }
    static void take_extents(const column& described, std::uint64_t samples,
                             column_record& record) {
        record.rank = described.extents.size() + 1;
        record.extents = {samples};
        std::copy(described.extents.begin(), described.extents.end(), record.extents.begin() + 1);
    }
    [[noreturn]] void refuse_images(const image_step& step, const column_record& images) const {
        throw error({.code = errc::shape_mismatch,
                     .text = "a batch of images " +
                             shape_text(std::span(images.extents).first(images.rank)) +
                             " is to be prepared as " + quoted(target_.columns[step.target]),
                     .remedy = "give stoker::prepare a stoker::crop or a stoker::center_crop, or "
                               "let the dataset make images of that size"});
    }
    /// Extents that only the device's type knows are those of the batch, too.
    void check_extents(const number_step& step, const column_record& numbers) const {
        const column& described = target_.columns[step.target];
        for (std::size_t axis = 0; axis < described.extents.size(); ++axis) {
            const std::uint64_t wanted = described.extents[axis];
            if (described.kind == column_kind::whole || wanted == unknown_extent ||
                wanted == numbers.extents[axis + 1])
                continue;
            throw error({.code = errc::shape_mismatch,
                         .text = "a batch of shape " +
                                 shape_text(std::span(numbers.extents).first(numbers.rank)) +
                                 " is to be prepared as " + quoted(described),
                         .remedy = "let the dataset make samples of that shape"});
        }
    }

    void enqueue(kernel_queue& queue, const image_step& step, const column_block& source,
                 const column_block& prepared) const;
    void enqueue(kernel_queue& queue, const number_step& step, const column_block& source,
                 const column_block& prepared) const;

    schema source_;
    schema target_;
    std::vector<prepare_step> steps_;
};

/// Where a rectangle in the middle begins; the lesser of two pixels, outside of the image too.
std::int32_t centred(std::uint64_t source, std::uint64_t target) {
    const auto difference = static_cast<std::int64_t>(source) - static_cast<std::int64_t>(target);
    return static_cast<std::int32_t>(difference >> 1);
}

void planned_preparation::enqueue(kernel_queue& queue, const image_step& step,
                                  const column_block& source, const column_block& prepared) const {
    const column_record& images = source.records[step.source];
    image_job job;
    job.source = data_of<const std::uint8_t>(source, step.source);
    job.target = data_of<void>(prepared, step.target);
    if (step.top)
        job.top = data_of<const std::int32_t>(source, *step.top);
    if (step.left)
        job.left = data_of<const std::int32_t>(source, *step.left);
    if (step.flip)
        job.flip = data_of<const std::uint8_t>(source, *step.flip);
    job.samples = static_cast<std::uint32_t>(images.extents[0]);
    job.source_height = static_cast<std::uint32_t>(images.extents[1]);
    job.source_width = static_cast<std::uint32_t>(images.extents[2]);
    job.height = static_cast<std::uint32_t>(step.height);
    job.width = static_cast<std::uint32_t>(step.width);
    job.common_top = centred(job.source_height, job.height);
    job.common_left = centred(job.source_width, job.width);
    std::copy(step.multiply.begin(), step.multiply.end(), job.multiply);
    std::copy(step.add.begin(), step.add.end(), job.add);
    job.fill = step.fill;
    job.type = target_.columns[step.target].type;
    job.channels = static_cast<std::uint8_t>(step.channels);
    job.target_channels = static_cast<std::uint8_t>(step.target_channels);
    job.channels_first = step.channels_first;
    queue.launch(call_of(job));
}

void planned_preparation::enqueue(kernel_queue& queue, const number_step& step,
                                  const column_block& source, const column_block& prepared) const {
    const column& from = source_.columns[step.source];
    const column& to = target_.columns[step.target];
    const column_record& record = prepared.records[step.target];
    if (record.bytes == 0)
        return;
    if (!step.is_window && from.type == to.type) {
        queue.copy(data_of<std::byte>(prepared, step.target),
                   data_of<const std::byte>(source, step.source), record.bytes);
        return;
    }
    cast_job job;
    job.source = data_of<const void>(source, step.source);
    job.target = data_of<void>(prepared, step.target);
    job.source_type = from.type;
    job.target_type = to.type;
    if (step.is_window) {
        if (step.offset_column)
            job.offset = data_of<const std::int32_t>(source, *step.offset_column);
        job.common_offset = step.offset;
        job.fill = step.fill;
        job.rows = record.extents[0];
        job.row_size = record.extents[1];
        job.source_row_size = source.records[step.source].extents[1];
    } else {
        job.rows = 1;
        job.row_size = job.source_row_size = record.bytes / to.element_bytes;
    }
    queue.launch(call_of(job));
}

}  // namespace

void set_normalisation(image_step& step, std::span<const float> mean,
                       std::span<const float> deviation) {
    for (std::size_t channel = 0; channel < mean.size(); ++channel) {
        const double scale = deviation[channel];
        const double middle = mean[channel];
        step.multiply[channel] = static_cast<float>(1.0 / (255.0 * scale));
        step.add[channel] = static_cast<float>(-middle / scale);
        if (!std::isfinite(scale) || !std::isfinite(step.multiply[channel]) ||
            !std::isfinite(step.add[channel])) {
            refuse("normalize has mean " + std::to_string(middle) + " and deviation " +
                       std::to_string(scale) + " for channel " + std::to_string(channel),
                   "give finite numbers, and deviations other than 0");
        }
    }
}

std::unique_ptr<preparation> make_preparation(schema source, schema target,
                                              std::vector<prepare_step> steps) {
    auto all = complete(source, target, std::move(steps));
    return std::make_unique<planned_preparation>(std::move(source), std::move(target),
                                                 std::move(all));
}

}  // namespace stoker::detail
