#pragma once
// Everything light of stoker. It opens no namespace alias, and includes no heavy header of Asio.

#if __cplusplus < 202002L
#error "stoker needs C++20: compile with -std=c++20 (g++ 12 up, clang 16 up)"
#endif

#include <stoker/collate/collate.hpp>
#include <stoker/collate/column_access.hpp>
#include <stoker/collate/writer.hpp>
#include <stoker/core/error.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/concat.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/map.hpp>
#include <stoker/dataset/padded.hpp>
#include <stoker/dataset/ragged.hpp>
#include <stoker/dataset/random.hpp>
#include <stoker/dataset/range_stream.hpp>
#include <stoker/dataset/row.hpp>
#include <stoker/dataset/stream.hpp>
#include <stoker/dataset/subset.hpp>
#include <stoker/dataset/worker_info.hpp>
#include <stoker/device/device.hpp>
#include <stoker/device/device_feed.hpp>
#include <stoker/device/prepare.hpp>
#include <stoker/loader/bad_sample.hpp>
#include <stoker/loader/batch.hpp>
#include <stoker/loader/loader.hpp>
#include <stoker/loader/loader_options.hpp>
#include <stoker/loader/memory_use.hpp>
#include <stoker/loader/replace_bad.hpp>
#include <stoker/loader/skipped_samples.hpp>
#include <stoker/loader/worker_init.hpp>
#include <stoker/runtime/rethrow.hpp>
#include <stoker/sampler/batch_sampler.hpp>
#include <stoker/sampler/random_split.hpp>
#include <stoker/sampler/sampler.hpp>
#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/f16.hpp>
#include <stoker/tensor/tensor.hpp>
#include <stoker/tensor/tensor_view.hpp>
#include <stoker/tune/sweep.hpp>
#include <stoker/worker/fork_server.hpp>
