#!/usr/bin/env python3
"""Compiles the kernels and reads what came out: no register of theirs is spilled to memory, and
they read and write by vectors.

usage: kernels.py SOURCE ARCHITECTURES NVCC_COMMAND...     (ARCHITECTURES: such as 75,90)
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

# Of a multiprocessor's 65,536 registers, 40 a thread leave room for 48 warps, and 48 for 40: enough
# to hide memory's latency. Images are what moves bytes; casts know all types at run time.
MOST_REGISTERS = {"image_body": 40, "cast_body": 48}

# Elements of dtype's numbering, as they stand in mangled names.
BYTES_OF_DTYPE = {"9": 2, "10": 2, "11": 4}
BYTES_OF_TARGET = {"i": 4, "l": 8, "f": 4, "NS_3f16": 2, "NS_4bf16": 2}


def compile_kernels(command, source, arguments):
    result = subprocess.run([*command, *arguments, source], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    return result.stdout + result.stderr


def spill_findings(report, architecture):
    """One line for each kernel that uses a stack or too many registers."""
    kernels = re.findall(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers", report, re.S)
    findings = []
    for name, *numbers in kernels:
        stack, stores, loads, registers = map(int, numbers)
        if stack or stores or loads:
            findings.append(f"sm_{architecture}: {name} spills: stack {stack}, stores {stores}, "
                            f"loads {loads}")
        most = next(most for body, most in MOST_REGISTERS.items() if body in name)
        if registers > most:
            findings.append(f"sm_{architecture}: {name} uses {registers} registers")
    return len(kernels), findings


def wanted_stores(name):
    """Words of each vector store, and how many of them make four elements or pixels."""
    image = re.search(r"image_bodyILNS_5dtypeE(\d+)ELi(\d)ELi(\d)ELb([01])E", name)
    if image:
        run = 4 * BYTES_OF_DTYPE[image[1]]
        planes = int(image[3]) if image[4] == "1" else 1
        run *= 1 if image[4] == "1" else int(image[3])
    else:
        cast = re.search(r"cast_bodyILi(\d)E(\w+?)E+v", name)
        run, planes = 4 * BYTES_OF_TARGET[cast[2]], 1
    words = 4 if run % 16 == 0 else 2
    return words, planes * run // (4 * words)


def wanted_load(name):
    """The instruction by which sources are read, most of them."""
    image = re.search(r"image_bodyILNS_5dtypeE\d+ELi(\d)E", name)
    if image:
        return "ld.global.v4.u32" if image[1] == "4" else "ld.global.u32"
    return {1: "ld.global.u32", 2: "ld.global.v2.u32"}.get(
        int(re.search(r"cast_bodyILi(\d)E", name)[1]), "ld.global.v4.u32")


def vector_findings(ptx):
    entries = re.split(r"(?=\.entry )", ptx)[1:]
    findings = []
    for entry in entries:
        name = re.search(r"\.entry (\w+)", entry)[1]
        seen = collections.Counter(re.findall(r"\b(?:ld|st)\.[a-z0-9.]+", entry))
        words, count = wanted_stores(name)
        if seen[f"st.global.v{words}.u32"] != count:
            findings.append(f"{name}: wanted {count} stores of {words} words: {dict(seen)}")
        if not seen[wanted_load(name)]:
            findings.append(f"{name}: wanted {wanted_load(name)}: {dict(seen)}")
        if any(".local" in instruction for instruction in seen):
            findings.append(f"{name}: uses local memory: {dict(seen)}")
        if "image_body" in name and "fma.rn.f32" not in entry:
            findings.append(f"{name}: no fma.rn.f32")
        if re.search(r"\.ftz|\.approx", entry):
            findings.append(f"{name}: flushes or approximates")
    return len(entries), findings


def main():
    source, architectures, *command = sys.argv[1:]
    findings = []
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, "kernels")
        for architecture in architectures.split(","):
            report = compile_kernels(command, source, [
                f"-arch=sm_{architecture}", "-Xptxas=-v", "-cubin", "-o", output])
            kernels, found = spill_findings(report, architecture)
            print(f"sm_{architecture}: {kernels} kernels, {len(found)} findings")
            findings += found
        compile_kernels(command, source, ["-arch=compute_90", "-ptx", "-o", output])
        with open(output, encoding="utf-8") as stream:
            entries, found = vector_findings(stream.read())
    print(f"PTX: {entries} kernels, {len(found)} findings")
    findings += found
    # 18 of images, and 20 of casts.
    if kernels != 38 or entries != 38:
        findings.append(f"38 kernels are wanted, {kernels} and {entries} were read")
    print("\n".join(findings))
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
