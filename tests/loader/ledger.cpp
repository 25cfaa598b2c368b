#include "loader/ledger.hpp"

#include <stdexcept>

#include "support/catch.hpp"

using namespace stoker::detail;
using state = ledger_entry::state;

TEST_CASE("sequence numbers go up and are never used twice", "[loader]") {
    ledger book(4);
    CHECK(book.empty());
    const auto first = book.tail();
    book.push();
    book.push();
    CHECK(book.tail() == first + 2);
    book.clear();
    CHECK(book.empty());
    CHECK(book.tail() == first + 2);
    CHECK_FALSE(book.contains(first));
}

TEST_CASE("in order only the front is deliverable", "[loader]") {
    ledger book(8);
    const auto first = book.tail();
    book.push();
    book.push().now = state::ready;
    CHECK_FALSE(book.deliverable(true));
    CHECK(book.deliverable(false) == first + 1);
    book.at(first).now = state::failed;
    CHECK(book.deliverable(true) == first);
}

TEST_CASE("out of order the border of an epoch is passed last", "[loader]") {
    ledger book(8);
    const auto first = book.tail();
    book.push();
    book.push().now = state::ready;
    book.push().now = state::end_of_epoch;
    book.push().now = state::ready;  // of the next epoch
    CHECK(book.deliverable(false) == first + 1);
    book.remove(first + 1);
    CHECK_FALSE(book.deliverable(false));
    CHECK(book.oldest_waiting() == first);
    book.at(first).now = state::ready;
    book.remove(first);
    CHECK(book.head() == first + 2);
    CHECK(book.deliverable(false) == first + 2);
    book.remove(first + 2);
    CHECK(book.deliverable(false) == first + 3);
}

TEST_CASE("a ring holds what it was made for and forgets failures", "[loader]") {
    ledger book(3);
    int count = 0;
    while (!book.full()) {
        book.push().failure = std::make_exception_ptr(std::runtime_error("x"));
        ++count;
    }
    CHECK(count >= 3);
    book.clear();
    CHECK_FALSE(book.full());
    CHECK(book.push().failure == nullptr);
}
