"""PyTorch's DataLoader as an arm: the same work, in the form that serves it best.

Samples are views of one preallocated tensor, so that a worker copies each of them once, in its
collate, into shared memory. Workers have one intra-op thread (PyTorch's own default). The consumer
checks one word of every sample, for a whole batch at once. Start method: fork, the fastest, except
where a case asks for a fork server; --spawn asks for spawn there.

    torch_dataloader.py BENCH CASE [--count] [--spawn] [--asyncio]
"""

import asyncio
import ctypes
import json
import os
import sys
import time

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler

IMAGE_BYTES = 3 * 224 * 224
EPOCH_SAMPLES = 1 << 30  # more than a run gets through
WARM_UP_SECONDS, MEASURED_SECONDS = 0.4, 1.2
SEEN_WORDS = 8  # bytes of the word that is checked


def report(metric, value, unit):
    print(json.dumps({"metric": metric, "value": value, "unit": unit}), flush=True)


class Marked:
    """The stretch in which run_bench counts system calls, as in support/measurement.hpp."""

    def __init__(self, metric, events):
        self.path = f"/stoker-bench/begin/{metric}/{events}"

    def __enter__(self):
        os.access(self.path, os.F_OK)

    def __exit__(self, *_):
        os.access("/stoker-bench/end", os.F_OK)


class Pool(Dataset):
    """Equal samples reached by a keyed index, as in support/samples.hpp."""

    def __init__(self, samples, sample_bytes, size):
        self.samples, self.size = samples, size
        self.data = torch.empty(samples, sample_bytes, dtype=torch.uint8)
        self.data[:] = torch.arange(samples).remainder(256).to(torch.uint8).unsqueeze(1)
        words = torch.arange(1, samples + 1) * -0x61C8864680B583EB  # 0x9E3779B97F4A7C15 as int64
        self.data[:, :SEEN_WORDS] = words.view(-1, 1).view(torch.uint8)

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.data[index * 1597 & (self.samples - 1)]

    def words(self):
        return self.data[:, :SEEN_WORDS].contiguous().view(torch.int64).squeeze(1)


class Checker:
    """Checks one word of every sample of the batches, in order."""

    def __init__(self, pool, batch_size):
        self.words, self.mask = pool.words(), pool.samples - 1
        self.positions = torch.arange(batch_size) * 1597
        self.step = batch_size * 1597
        self.first = 0

    def __call__(self, batch):
        seen = batch[:, :SEEN_WORDS].contiguous().view(torch.int64).squeeze(1)
        if not torch.equal(seen, self.words[(self.positions + self.first) & self.mask]):
            sys.exit("torch_dataloader: wrong data")
        self.first += self.step


def allocation_counter():
    """The preloaded counter of support/allocations.cpp, if there is one."""
    this = ctypes.CDLL(None)
    if not hasattr(this, "bench_allocations"):
        return None
    this.bench_allocations.restype = ctypes.c_uint64
    return this


def transport(case, count):
    if case == "small":
        pool, batch_size, prefetch = Pool(4096, 16, EPOCH_SAMPLES), 32, 16
    else:
        pool, batch_size, prefetch = Pool(2048, IMAGE_BYTES, EPOCH_SAMPLES), 64, 2
    batches = iter(DataLoader(pool, batch_size, num_workers=2, prefetch_factor=prefetch))
    check = Checker(pool, batch_size)
    events = 100
    if count:
        for _ in range(20):
            check(next(batches))
        with Marked("syscalls_per_batch", events):
            for _ in range(events):
                check(next(batches))
        return
    start, delivered, warm = time.monotonic(), 0, False
    while True:
        check(next(batches))
        delivered += 1
        elapsed = time.monotonic() - start
        if not warm and elapsed >= WARM_UP_SECONDS:
            start, delivered, warm = time.monotonic(), 0, True
        elif warm and elapsed >= MEASURED_SECONDS:
            break
    report("batches_per_s", delivered / elapsed, "1/s")
    counter = allocation_counter()
    if counter:
        counter.bench_count_allocations(1)
        for _ in range(events):
            check(next(batches))
        counter.bench_count_allocations(0)
        report("allocations_per_batch", counter.bench_allocations() / events, "calls")


def ready_next(_case, _count):
    pool = Pool(4096, 16, EPOCH_SAMPLES)
    batches = iter(DataLoader(pool, batch_size=32, num_workers=2, prefetch_factor=16))
    check = Checker(pool, 32)
    microseconds = []
    for _ in range(400):
        time.sleep(0.003)
        while batches._worker_result_queue.empty():
            time.sleep(0.001)
        start = time.perf_counter()
        batch = next(batches)
        microseconds.append((time.perf_counter() - start) * 1e6)
        check(batch)
    microseconds.sort()
    report("p50_us", microseconds[len(microseconds) // 2], "us")
    report("p99_us", microseconds[len(microseconds) * 99 // 100], "us")


class Held(Dataset):
    """A dataset in memory, every page of it written; samples of 16 bytes come from all over it."""

    def __init__(self, held_bytes):
        samples = max(held_bytes, 65536) // 16
        self.data = torch.arange(1, 2 * samples + 1).view(samples, 2)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index * 1597 % len(self.data)]


def startup(case, _count):
    method = "fork"
    if case.endswith("_fork_server"):
        method = "spawn" if "--spawn" in sys.argv else "forkserver"
    workers, held = (8, 128 << 20) if case.startswith("data128mib") else (4, 0)
    data = Held(held)
    if method == "forkserver":
        # As with stoker's: the server is there before the loader, with the library loaded.
        torch.multiprocessing.set_forkserver_preload(["torch", "torch.utils.data"])
        from multiprocessing import forkserver
        forkserver.ensure_running()
        time.sleep(3)
    start = time.monotonic()
    batches = iter(DataLoader(data, 32, num_workers=workers, multiprocessing_context=method))
    first = next(batches)
    report("first_batch_ms", (time.monotonic() - start) * 1e3, "ms")
    if first.shape != (32, 2):
        sys.exit("torch_dataloader: wrong data")


def memory_of(pid):
    found = {}
    for path in (f"/proc/{pid}/smaps_rollup", f"/proc/{pid}/status"):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name, _, rest = line.partition(":")
                if rest.endswith("kB\n"):
                    found[name] = int(rest.split()[0]) * 1024 / 1e6
    return found["Pss_Anon"] + found["Pss_File"], found["Pss_Shmem"], found["VmPTE"]


def footprint(_case, _count):
    pool = Pool(4096, 16, 32 * 256)
    loader = DataLoader(pool, batch_size=32, num_workers=4, persistent_workers=True)
    for _ in loader:
        pass
    time.sleep(0.1)
    shares = [memory_of(worker.pid) for worker in loader._iterator._workers]
    own, shared, tables = (sum(column) / len(shares) for column in zip(*shares))
    report("worker_own_mb", own, "MB")
    report("worker_shared_mb", shared, "MB")
    report("worker_page_tables_mb", tables, "MB")


class Slow(Pool):
    """One sample in eight is fetched from somewhere, as in epoch_gap/slow_samples.hpp."""

    def __getitem__(self, index):
        if index % 8 == 0:
            time.sleep(50e-6)
        return super().__getitem__(index)


def epoch_gap(case, _count):
    epochs, batches, step_seconds = 20, 16, 1e-3
    pool = Slow(4096, 16, 32 * batches)
    loader = DataLoader(pool, batch_size=32, num_workers=4, persistent_workers=case == "persistent")
    gaps, waits, intervals = [], [], []
    asked = delivered = None
    for _ in range(epochs):
        first = True
        for _ in loader:
            now = time.monotonic()
            if asked is not None:
                (gaps if first else waits).append((now - asked) * 1e3)
                if not first:
                    intervals.append((now - delivered) * 1e3)
            delivered, first = now, False
            while time.monotonic() < delivered + step_seconds:
                pass
            asked = time.monotonic()
    for metric, values in (("gap_ms", gaps), ("wait_ms", waits), ("interval_ms", intervals)):
        values.sort()
        report(metric, values[len(values) // 2], "ms")


class Distant(Dataset):
    """Each sample takes 20 ms to come."""

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        time.sleep(20e-3)
        return index


class DistantBatches(Distant):
    """A whole batch by one call, its samples awaited together, up to so many at once."""

    def __init__(self, in_flight):
        self.in_flight = in_flight

    def __getitem__(self, indices):
        return asyncio.run(self.gather(indices))

    async def gather(self, indices):
        places = asyncio.Semaphore(self.in_flight)

        async def one(index):
            async with places:
                await asyncio.sleep(20e-3)
                return index

        return torch.tensor(await asyncio.gather(*map(one, indices)))


def latency(case, _count):
    batch_size, in_flight = 16, int(case[1:])
    prefetch = 2 + 2 * in_flight // batch_size
    if "--asyncio" in sys.argv:
        dataset = DistantBatches(in_flight)
        batches = BatchSampler(SequentialSampler(dataset), batch_size, drop_last=False)
        loader = DataLoader(dataset, batch_size=None, sampler=batches, num_workers=2,
                            prefetch_factor=prefetch)
    else:
        loader = DataLoader(Distant(), batch_size=batch_size, num_workers=2,
                            prefetch_factor=prefetch)
    start, batches_seen, warm, expected = time.monotonic(), 0, False, 0
    for batch in loader:
        if batch[0].item() != expected:
            sys.exit("a sample is missing")
        expected += batch_size
        batches_seen += 1
        passed = time.monotonic() - start
        if not warm and passed >= WARM_UP_SECONDS:
            warm, batches_seen, start = True, 0, time.monotonic()
        elif warm and passed >= MEASURED_SECONDS:
            report("samples_per_s", batches_seen * batch_size / passed, "samples/s")
            return


if __name__ == "__main__":
    BENCHES = {"transport": transport, "ready_next": ready_next, "startup": startup,
               "footprint": footprint, "epoch_gap": epoch_gap, "latency": latency}
    name, test_case = [word for word in sys.argv[1:] if not word.startswith("--")]
    BENCHES[name](test_case, "--count" in sys.argv)
