#pragma once

#include <boost/pfr/core.hpp>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

// What a sample type's members are: count, types, names, and which one a member pointer means.
// Counting and typing are Boost.PFR's. Its 1.81 has no names and takes a C array for as many
// members as it has elements, so both are done here. Names come from the text that compilers give
// for a function whose template argument points to the member of an object: no macro, local types
// too.

namespace stoker::detail {

/// Converts to anything: stands for a member in `S{anything, …}`. Defined, though it is never
/// called: compilers instantiate what would call it, such as the constructors of std::optional.
struct anything {
    template <class T>
    operator T() const noexcept {
        __builtin_unreachable();
    }
};

template <std::size_t>
using any_one = anything;

/// Converts to any base of S.
template <class S>
struct any_base {
    template <class T>
        requires(std::is_base_of_v<T, S> && !std::is_same_v<T, S>)
    constexpr operator T() const noexcept;
};
/// An aggregate whose first initialiser is that of a base class.
template <class S>
concept derived_sample = requires {
    S{any_base<S>{}};
};

template <class S, std::size_t... Before>
constexpr bool takes(std::index_sequence<Before...>) {
    return requires {
        S{any_one<Before>{}...};
    };
}
template <class S, std::size_t... Before>
constexpr bool takes_list_after(std::index_sequence<Before...>) {
    return requires {
        S{any_one<Before>{}..., {anything{}, anything{}}};
    };
}
template <class S, std::size_t... Before, std::size_t... After>
constexpr bool takes_list_between(std::index_sequence<Before...>, std::index_sequence<After...>) {
    return requires {
        S{any_one<Before>{}..., {anything{}, anything{}}, any_one<After>{}...};
    };
}

/// Most members of a sample type (Boost.PFR's limit).
inline constexpr std::size_t most_fields = 100;

/// Initialisers that S takes: its members, with each C array counted as its elements;
/// `most_fields + 1` stands for more.
template <class S, std::size_t Count = 1>
constexpr std::size_t count_initialisers() {
    if constexpr (Count > most_fields) {
        return Count;
    } else if constexpr (!takes<S>(std::make_index_sequence<Count>{}) &&
                         takes<S>(std::make_index_sequence<Count - 1>{})) {
        return Count - 1;
    } else {
        return count_initialisers<S, Count + 1>();
    }
}

/// A C array is the one thing that takes a list in one place and yet uses up several initialisers.
template <class S, std::size_t Total, std::size_t Place>
constexpr bool is_c_array_at() {
    using before = std::make_index_sequence<Place>;
    return takes_list_after<S>(before{}) &&
           !takes_list_between<S>(before{}, std::make_index_sequence<Total - Place - 1>{});
}
template <class S, std::size_t Total, std::size_t... Place>
constexpr bool has_c_array(std::index_sequence<Place...>) {
    return (is_c_array_at<S, Total, Place>() || ...);
}

/// Says what is wrong with a struct as a sample, before Boost.PFR would in its own words.
template <class S>
struct check_fields {
    static constexpr std::size_t initialisers = count_initialisers<S>();
    static constexpr bool derived = derived_sample<S>;
    static_assert(!derived,
                  "stoker: a sample struct may not have a base class; make it a member instead");
    static_assert(initialisers > 0, "stoker: a sample struct needs at least one member");
    static_assert(initialisers <= most_fields,
                  "stoker: a sample struct may have 100 members and no C array; "
                  "use std::array or stoker::tensor in place of T member[N]");
    static constexpr bool c_array = [] {
        if constexpr (initialisers > most_fields)
            return false;
        else
            return has_c_array<S, initialisers>(std::make_index_sequence<initialisers>{});
    }();
    static_assert(!c_array,
                  "stoker: a sample struct may not have C arrays as members; "
                  "use std::array or stoker::tensor in place of T member[N]");
    static constexpr bool value =
        !derived && initialisers > 0 && initialisers <= most_fields && !c_array;
};

/// Members of S; 0 when `check_fields` has refused it.
template <class S>
inline constexpr std::size_t field_count =
    check_fields<S>::value ? check_fields<S>::initialisers : 0;

/// References to all members.
template <class S>
constexpr auto tie_fields(S& sample) {
    return boost::pfr::detail::tie_as_tuple(
        sample, boost::pfr::detail::size_t_<field_count<std::remove_const_t<S>>>{});
}

/// Member number I of a sample.
template <std::size_t I, class S>
constexpr auto& field(S& sample) {
    return boost::pfr::detail::sequence_tuple::get<I>(tie_fields(sample));
}

/// Type of member number I. A class of its own, for compilers look into an alias as soon as S is
/// known, which for a refused S is before `check_fields` has spoken.
template <class S, std::size_t I>
struct field_type_of {
    using type = std::remove_reference_t<decltype(field<I>(std::declval<S&>()))>;
};
template <class S, std::size_t I>
using field_type = typename field_type_of<S, I>::type;

/// Memory in the shape of an S that never becomes one: only addresses of its members are taken.
template <class S>
union blank_sample {
    constexpr blank_sample() : nothing{} {}
    constexpr ~blank_sample() {}
    char nothing;
    S value;
};
template <class S>
inline constinit blank_sample<S> blank{};

template <const auto* Member>
constexpr auto text_with_name() {
    return __PRETTY_FUNCTION__;
}

/// The last identifier in a compiler's text: "…(& blank<S>.…::value.S::pixels)]" or
/// "… = &blank.value.pixels]".
constexpr std::string_view last_identifier(std::string_view text) {
    const auto in_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
    };
    std::size_t end = text.size();
    while (end > 0 && !in_name(text[end - 1]))
        --end;
    std::size_t begin = end;
    while (begin > 0 && in_name(text[begin - 1]))
        --begin;
    return text.substr(begin, end - begin);
}

/// Name of member number I, as it is spelled in the struct.
template <class S, std::size_t I>
inline constexpr std::string_view field_name =
    last_identifier(text_with_name<std::addressof(field<I>(std::as_const(blank<S>.value)))>());

/// Calls `f(std::integral_constant<std::size_t, I>)` for I from 0 up to `Count`.
template <std::size_t Count, class F>
constexpr void for_each_number(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (f(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::make_index_sequence<Count>{});
}

/// Number of the member that `pointer` means, or `field_count<S>` when there is none (a base's).
template <class S, class Member>
std::size_t field_number(Member S::*pointer) {
    std::size_t number = field_count<S>;
    const Member* wanted = std::addressof(blank<S>.value.*pointer);
    for_each_number<field_count<S>>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        if constexpr (std::is_same_v<field_type<S, I>, Member>) {
            if (std::addressof(field<I>(std::as_const(blank<S>.value))) == wanted)
                number = I;
        }
    });
    return number;
}

}  // namespace stoker::detail
