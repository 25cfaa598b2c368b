#pragma once

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace stoker::detail {

/// Datasets of several types, by number.
template <class... Datasets>
class tuple_of_datasets {
  public:
    template <template <class...> class Traits>
    using apply = Traits<Datasets...>;

    explicit tuple_of_datasets(Datasets... datasets) : datasets_(std::move(datasets)...) {}

    std::size_t count() const { return sizeof...(Datasets); }
    template <std::size_t Number = 0, class Use>
    decltype(auto) visit(std::size_t number, Use&& use) {
        if constexpr (Number + 1 < sizeof...(Datasets)) {
            if (number != Number)
                return visit<Number + 1>(number, use);
        }
        return use(std::get<Number>(datasets_));
    }

  private:
    std::tuple<Datasets...> datasets_;
};

/// Datasets of one type, by number.
template <class Dataset>
class list_of_datasets {
  public:
    template <template <class...> class Traits>
    using apply = Traits<Dataset>;

    explicit list_of_datasets(std::vector<Dataset> datasets) : datasets_(std::move(datasets)) {}

    std::size_t count() const { return datasets_.size(); }
    template <class Use>
    decltype(auto) visit(std::size_t number, Use&& use) {
        return use(datasets_[number]);
    }

  private:
    std::vector<Dataset> datasets_;
};

}  // namespace stoker::detail
