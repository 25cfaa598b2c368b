"""Runs an example and compares what it prints with the comment at the end of its source.

usage: check_output.py PROGRAM SOURCE [ARGUMENT...]
"""
import difflib
import subprocess
import sys

program, source, *arguments = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    lines = file.read().splitlines()
if "// Output:" not in lines:
    sys.exit(f"{source}: no line '// Output:' before the expected output")
tail = lines[lines.index("// Output:") + 1 :]
expected = [line.removeprefix("//").removeprefix(" ") for line in tail]

result = subprocess.run(
    [program, *arguments], capture_output=True, text=True, timeout=50, check=False
)
printed = result.stdout.splitlines()
sys.stdout.writelines(
    line + "\n" for line in difflib.unified_diff(expected, printed, source, program, lineterm="")
)
sys.stderr.write(result.stderr)
sys.exit(1 if result.returncode != 0 or printed != expected else 0)
