#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/core/error.hpp>

namespace stoker::detail {

template <class T>
struct is_recipe_argument : std::bool_constant<std::is_arithmetic_v<T> || std::is_enum_v<T>> {};
template <>
struct is_recipe_argument<std::string> : std::true_type {};
template <>
struct is_recipe_argument<std::filesystem::path> : std::true_type {};
template <class T>
struct is_recipe_argument<std::vector<T>> : is_recipe_argument<T> {};
template <class T, std::size_t Count>
struct is_recipe_argument<std::array<T, Count>> : is_recipe_argument<T> {};
template <class T>
struct is_recipe_argument<std::optional<T>> : is_recipe_argument<T> {};
template <class First, class Second>
struct is_recipe_argument<std::pair<First, Second>>
    : std::conjunction<is_recipe_argument<First>, is_recipe_argument<Second>> {};
template <class... Ts>
struct is_recipe_argument<std::tuple<Ts...>> : std::conjunction<is_recipe_argument<Ts>...> {};

/// What can travel to a fork server as a value: arithmetic types, enums, std::string,
/// std::filesystem::path, and vectors, arrays, pairs, tuples and optionals of those.
template <class T>
concept recipe_argument = is_recipe_argument<T>::value;

/// Elements of a vector that are written as one piece.
template <class T>
inline constexpr bool one_piece = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// How an argument is kept: texts of any kind become strings, everything else a value.
template <class T>
using stored_argument = std::conditional_t<std::same_as<std::decay_t<T>, const char*> ||
                                               std::same_as<std::decay_t<T>, char*> ||
                                               std::same_as<std::decay_t<T>, std::string_view>,
                                           std::string, std::decay_t<T>>;

/// Appends values to bytes that `argument_reader` takes apart in the same order, in a process of
/// the same program.
class argument_writer {
  public:
    explicit argument_writer(std::vector<std::byte>& bytes) : bytes_(bytes) {}

    template <class T>
        requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
    void write(const T& value) { append(&value, sizeof value); }
    void write(const std::string& text) {
        write<std::uint64_t>(text.size());
        append(text.data(), text.size());
    }
    void write(const std::filesystem::path& path) { write(path.native()); }
    template <class T>
    void write(const std::vector<T>& values) {
        write<std::uint64_t>(values.size());
        if constexpr (one_piece<T>) {
            append(values.data(), values.size() * sizeof(T));
        } else {
            for (const auto& value : values)
                write(static_cast<const T&>(value));
        }
    }
    template <class T, std::size_t Count>
    void write(const std::array<T, Count>& values) {
        for (const T& value : values)
            write(value);
    }
    template <class T>
    void write(const std::optional<T>& value) {
        write(value.has_value());
        if (value)
            write(*value);
    }
    template <class First, class Second>
    void write(const std::pair<First, Second>& values) {
        write(values.first);
        write(values.second);
    }
    template <class... Ts>
    void write(const std::tuple<Ts...>& values) {
        std::apply([&](const Ts&... value) { (write(value), ...); }, values);
    }

  private:
    void append(const void* data, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }

    std::vector<std::byte>& bytes_;
};

/// The other direction. Bytes that end too early are error{protocol}.
class argument_reader {
  public:
    explicit argument_reader(std::span<const std::byte> bytes) : left_(bytes) {}

    template <recipe_argument T>
    T read() {
        return read(std::type_identity<T>{});
    }

  private:
    template <class T>
        requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
    T read(std::type_identity<T>) {
        T value{};
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string read(std::type_identity<std::string>) {
        const auto text = take(read<std::uint64_t>());
        return std::string(reinterpret_cast<const char*>(text.data()), text.size());
    }
    std::filesystem::path read(std::type_identity<std::filesystem::path>) {
        return read<std::string>();
    }
    template <class T>
    std::vector<T> read(std::type_identity<std::vector<T>>) {
        std::vector<T> values;
        auto count = read<std::uint64_t>();
        if constexpr (one_piece<T>) {
            const auto taken = take(count > left_.size() ? count : count * sizeof(T));
            values.resize(static_cast<std::size_t>(count));
            if (count > 0)
                std::memcpy(values.data(), taken.data(), taken.size());
        } else {
            for (; count > 0; --count)
                values.push_back(read<T>());
        }
        return values;
    }
    template <class T, std::size_t... Numbers>
    auto read_array(std::index_sequence<Numbers...>) {
        return std::array<T, sizeof...(Numbers)>{(static_cast<void>(Numbers), read<T>())...};
    }
    template <class T, std::size_t Count>
    std::array<T, Count> read(std::type_identity<std::array<T, Count>>) {
        return read_array<T>(std::make_index_sequence<Count>{});
    }
    template <class T>
    std::optional<T> read(std::type_identity<std::optional<T>>) {
        if (!read<bool>())
            return std::nullopt;
        return read<T>();
    }
    template <class First, class Second>
    std::pair<First, Second> read(std::type_identity<std::pair<First, Second>>) {
        auto first = read<First>();
        auto second = read<Second>();
        return {std::move(first), std::move(second)};
    }
    template <class... Ts>
    std::tuple<Ts...> read(std::type_identity<std::tuple<Ts...>>) {
        return std::tuple<Ts...>{read<Ts>()...};  // braces: from left to right
    }

    std::span<const std::byte> take(std::uint64_t size) {
        if (size > left_.size())
            throw error(errc::protocol, "the arguments of a recipe end too early");
        const auto taken = left_.first(static_cast<std::size_t>(size));
        left_ = left_.subspan(static_cast<std::size_t>(size));
        return taken;
    }

    std::span<const std::byte> left_;
};

}  // namespace stoker::detail
