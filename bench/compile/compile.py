#!/usr/bin/env python3
"""What a header or a program costs who compiles it: one measurement, printed as ./run bench has it.

usage: compile.py COMPILER CASE      a header, as it is included, or a source of this repository
       compile.py --cases            all cases, one a line
       compile.py --compilers        those of them that are here, one a line

`seconds`, of processor time: of a header, in a source that holds nothing else, without making
code (-fsyntax-only); of a program, compiled to an object with -O2. `lines`: after preprocessing,
without blank ones and line markers.
"""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILERS = ("g++", "clang++-19")
PROGRAM = "examples/00_first.cpp"
PEERS = ("boost/asio.hpp", "torch/data.h", "torch/torch.h")
TORCH_HEADERS = "/usr/include/torch/csrc/api/include"


def public_headers():
    listed = (ROOT / "include/meson.build").read_text(encoding="utf-8")
    return re.findall(r"'(stoker/[^']+\.hpp)'", listed)


def has_torch():
    return pathlib.Path(TORCH_HEADERS, "torch/data.h").exists()


def cases():
    peers = [peer for peer in PEERS if not peer.startswith("torch/") or has_torch()]
    return [PROGRAM, *peers, *public_headers()]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command):
    started = processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr[-2000:])
    return processor_seconds() - started, done.stdout


def measure(compiler, case):
    flags = [compiler, "-w"]
    if case.startswith("torch/"):  # of 2022: clang takes it in C++17 alone
        flags += ["-std=c++17", "-isystem", TORCH_HEADERS]
    else:
        flags += ["-std=c++20", "-I", str(ROOT / "include")]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "source.cpp")
        if case == PROGRAM:
            source.write_text((ROOT / case).read_text(encoding="utf-8"), encoding="utf-8")
            goal = ["-O2", "-c", "-o", str(pathlib.Path(folder, "object"))]
        else:
            source.write_text(f"#include <{case}>\n", encoding="utf-8")
            goal = ["-fsyntax-only"]
        seconds, _ = run([*flags, *goal, str(source)])
        _, text = run([*flags, "-E", str(source)])
    lines = sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))
    print(json.dumps({"metric": "seconds", "value": seconds, "unit": "s"}))
    print(json.dumps({"metric": "lines", "value": lines, "unit": "lines"}))


def main():
    arguments = sys.argv[1:]
    if arguments == ["--cases"]:
        print("\n".join(cases()))
    elif arguments == ["--compilers"]:
        print("\n".join(name for name in COMPILERS if shutil.which(name)))
    elif len(arguments) == 2:
        measure(*arguments)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
