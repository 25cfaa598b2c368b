"""What the demo says of files that it cannot use: status 2 and a line that names the place; and
that a training comes out the same whoever loads.

usage: check_demo.py DEMO DIGITS
"""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

demo, digits = sys.argv[1:]
archive = pathlib.Path(digits).read_bytes()
lines = gzip.decompress(archive).decode().splitlines()


def damaged(number, column, text):
    """The digits with other text at one place."""
    line = lines[number - 1]
    changed = line[: column - 1] + text + line[column - 1 + len(text) :]
    return "\n".join(lines[: number - 1] + [changed] + lines[number:]).encode()


cases = {
    "missing": (None, "cannot be opened: No such file"),
    "empty": (b"", "has no lines"),
    "cut off": (archive[: len(archive) // 2], "the archive ends early"),
    "damaged": (archive[:-8] + b"\0" * 8, "the archive is damaged"),
    "letters": (damaged(3, 5, "x"), "line 3, column 5: expected a number for a pixel"),
    "too much ink": (damaged(1, 7, "17"), "line 1, column 7: a pixel is 17, expected 0 to 16"),
    "wrong separator": (damaged(1, 2, ";"), "line 1, column 2: expected a comma"),
    "short line": (b"1,2,3\n", "line 1, column 6: the line ends early"),
    "long line": (lines[0].encode() + b",1\n", "expected the end of the line after 65 numbers"),
    "wrong label": (lines[0].rpartition(",")[0].encode() + b",10\n", "the label is 10"),
    "blank line": (lines[0].encode() + b"\n\n" + lines[1].encode(), "line 2, column 1"),
}
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for name, (content, message) in cases.items():
        path = pathlib.Path(folder) / name
        if content is not None:
            path.write_bytes(content)
        result = subprocess.run([demo, "--data", str(path), "--no-sweep"], capture_output=True,
                                text=True, timeout=60, check=False)
        good = result.returncode == 2 and message in result.stderr and name in result.stderr
        print(f"{'ok' if good else 'FAILED'}: {name}: {result.stderr.strip()}")
        failures += not good
    for arguments in (["--seed", "x"], ["--epochs", "0"], ["--what"], ["--workers"]):
        result = subprocess.run([demo, *arguments], capture_output=True, text=True, timeout=60,
                                check=False)
        good = result.returncode == 2 and arguments[0] in result.stderr
        print(f"{'ok' if good else 'FAILED'}: {arguments}: {result.stderr.strip()}")
        failures += not good

courses = set()
for workers in ("0", "1", "3"):
    result = subprocess.run([demo, "--data", digits, "--no-sweep", "--epochs", "3", "--workers",
                             workers], capture_output=True, text=True, timeout=60, check=False)
    courses.add(tuple(re.findall(r"(?:loss|accuracy|held out) +([0-9.]+)", result.stdout)))
good = len(courses) == 1 and len(courses.pop()) == 9
print(f"{'ok' if good else 'FAILED'}: 0, 1 and 3 workers make the same training")
failures += not good
sys.exit(1 if failures else 0)
