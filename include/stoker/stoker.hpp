#pragma once
// Everything light of stoker. It opens no namespace alias, and includes no heavy header of Asio.

#include <stoker/collate/column_access.hpp>
#include <stoker/core/error.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/map.hpp>
#include <stoker/dataset/random.hpp>
#include <stoker/dataset/row.hpp>
#include <stoker/dataset/worker_info.hpp>
#include <stoker/loader/batch.hpp>
#include <stoker/loader/loader.hpp>
#include <stoker/loader/loader_options.hpp>
#include <stoker/loader/memory_use.hpp>
#include <stoker/loader/worker_init.hpp>
#include <stoker/runtime/rethrow.hpp>
#include <stoker/sampler/batch_sampler.hpp>
#include <stoker/sampler/sampler.hpp>
#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/f16.hpp>
#include <stoker/tensor/tensor.hpp>
#include <stoker/tensor/tensor_view.hpp>
#include <stoker/tune/sweep.hpp>
#include <stoker/worker/fork_server.hpp>
