#!/usr/bin/env python3
"""Sums up runs of `meson test`: prints what failed and ends with 'N passed, N failed'.

usage: summary.py [--count PASSED FAILED]... TESTLOG.json...

A test program built with Catch2 counts as many tests as it has test cases, by the totals that it
prints at its end (v2 and v3); any other test counts as one. A program that fails although none of
its cases did (a crash on exit, a time-out) adds one failure. Exits with 1 when anything failed or
when nothing ran.
"""

import json
import re
import sys

ALL_PASSED = re.compile(r"^All tests passed \(.*?(\d+) test cases?\)", re.M)
SOME_FAILED = re.compile(r"^test cases:\s*\d+(.*)$", re.M)
PART = re.compile(r"\|\s*(\d+) (passed|failed as expected|failed|skipped)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def case_totals(output):
    """Returns (passed, failed, skipped) as Catch2 printed them last, or None."""
    output = COLOUR.sub("", output)
    found = None
    for match in ALL_PASSED.finditer(output):
        found = (match.start(), (int(match.group(1)), 0, 0))
    for match in SOME_FAILED.finditer(output):
        if found is None or match.start() > found[0]:
            counts = {"passed": 0, "failed": 0, "skipped": 0, "failed as expected": 0}
            for number, what in PART.findall(match.group(1)):
                counts[what] += int(number)
            passed = counts["passed"] + counts["failed as expected"]
            found = (match.start(), (passed, counts["failed"], counts["skipped"]))
    return found and found[1]


def count(test):
    """Returns (passed, failed, skipped) of one line of a test log."""
    result = test["result"]
    if result == "SKIP":
        return 0, 0, 1
    succeeded = result in ("OK", "EXPECTEDFAIL")
    totals = case_totals(test.get("stdout", ""))
    if totals is None:
        return (1, 0, 0) if succeeded else (0, 1, 0)
    passed, failed, skipped = totals
    if not succeeded and failed == 0:
        failed = 1
    return passed, failed, skipped


def main(arguments):
    sums = [0, 0, 0]
    while arguments and arguments[0] == "--count":
        sums[0] += int(arguments[1])
        sums[1] += int(arguments[2])
        arguments = arguments[3:]
    for path in arguments:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                test = json.loads(line)
                counts = count(test)
                sums = [a + b for a, b in zip(sums, counts)]
                if counts[1]:
                    print(f"\n=== {test['name']}: {test['result']} ({path})")
                    text = test.get("stdout", "") + test.get("stderr", "")
                    print("\n".join(text.splitlines()[-60:]))
    skipped = f", {sums[2]} skipped" if sums[2] else ""
    print(f"{sums[0]} passed, {sums[1]} failed{skipped}")
    return 1 if sums[1] or not sums[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
