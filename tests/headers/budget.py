#!/usr/bin/env python3
"""Whether each public header, and the README's program, is as light as its budget says: in lines
after preprocessing, blank ones and line markers left out. What a header includes is paid for by
every source that includes it, again and again; nobody notices by how it feels.

usage: budget.py [--write] ROOT BUDGETS COMPILER...

Headers are those of include/meson.build. Budgets hold for the compiler and the Boost that the file
names; with others there is nothing to compare with, and the test is skipped. --write adds what has
no budget yet, a tenth above what is there now, and removes what is gone. A budget that is passed is
raised by hand, by somebody who has a reason.
"""
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
ROOM = 1.1


def lines_of(text):
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def preprocess(compiler, root, source):
    command = [*compiler, "-std=c++20", "-E", "-I", str(root / "include"), "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def versions(compiler, root):
    text = preprocess(compiler, root, "#include <boost/version.hpp>\n"
                                      "compiler __GNUC__\nBOOST_LIB_VERSION\n")
    major = re.search(r"^compiler (\d+)", text, re.MULTILINE).group(1)
    boost = re.search(r'^ *"(\w+)"', text, re.MULTILINE).group(1).replace("_", ".")
    return f"g++ {major}, Boost {boost}"


def read_budgets(path):
    made_with, budgets = "", {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# made with "):
            made_with = line.removeprefix("# made with ")
        elif line and not line.startswith("#"):
            budget, name = line.split()
            budgets[name] = int(budget)
    return made_with, budgets


def measure(compiler, root):
    listed = (root / "include/meson.build").read_text(encoding="utf-8")
    found = {}
    for header in re.findall(r"'(stoker/[^']+\.hpp)'", listed):
        found[header] = lines_of(preprocess(compiler, root, f"#include <{header}>\n"))
    example = "examples/00_first.cpp"
    found[example] = lines_of(
        preprocess(compiler, root, (root / example).read_text(encoding="utf-8")))
    return found


def write(path, made_with, found):
    kept = read_budgets(path)[1] if path.exists() else {}
    text = ["# Most lines after preprocessing, and the header: see budget.py.",
            f"# made with {made_with}"]
    for name, lines in sorted(found.items()):
        budget = kept.get(name, max(100, round(lines * ROOM / 100) * 100))
        text.append(f"{budget:7} {name}")
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def main():
    arguments = sys.argv[1:]
    writing = arguments[:1] == ["--write"]
    root, path, *compiler = arguments[1:] if writing else arguments
    root, path = pathlib.Path(root), pathlib.Path(path)
    here = versions(compiler, root)
    found = measure(compiler, root)
    if writing:
        write(path, here, found)
        return 0
    made_with, budgets = read_budgets(path)
    print(f"{here}; budgets were made with {made_with}\n{'lines':>7} {'budget':>7}")
    faults = []
    for name, lines in sorted(found.items()):
        print(f"{lines:7} {budgets.get(name, '-'):>7} {name}")
        if name not in budgets:
            faults.append(f"{name} has no budget")
        elif lines > budgets[name]:
            faults.append(f"{name} has {lines} lines, budget {budgets[name]}: include less")
    faults += [f"{name} has a budget and is gone" for name in budgets if name not in found]
    if here != made_with:
        return SKIPPED
    for fault in faults:
        print(f"FAILED: {fault}")
    if faults:
        print("to add and remove budgets: tests/headers/budget.py --write . "
              "tests/headers/budgets.txt " + " ".join(compiler))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
