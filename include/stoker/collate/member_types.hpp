#pragma once
// How each type of member is collated, all in one place: whoever makes or reads batches includes
// this, so that a member type means the same everywhere.

#include <stoker/collate/collation.hpp>
#include <stoker/collate/optional_view.hpp>
#include <stoker/collate/padded_view.hpp>
#include <stoker/collate/ragged_struct_view.hpp>
#include <stoker/collate/ragged_view.hpp>
#include <stoker/collate/strings_view.hpp>
#include <stoker/collate/struct_view.hpp>
