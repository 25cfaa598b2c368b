#!/usr/bin/env python3
"""Who compiles with an older standard is told so in the first error.

usage: old_standard.py ROOT COMPILER...
"""
import subprocess
import sys

root, *compiler = sys.argv[1:]
done = subprocess.run(
    [*compiler, "-std=c++17", "-fsyntax-only", "-I", root + "/include", "-x", "c++", "-"],
    input="#include <stoker/stoker.hpp>\n", capture_output=True, text=True, check=False)
errors = [line for line in done.stderr.splitlines() if "error:" in line]
print("\n".join(errors[:3]))
sys.exit(0 if errors and "stoker needs C++20: compile with -std=c++20" in errors[0] else 1)
