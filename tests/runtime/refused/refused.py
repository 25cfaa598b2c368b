#!/usr/bin/env python3
"""refused.py SOURCE INCLUDE COMPILER...: SOURCE compiles as it stands, and with -DREFUSED the
compiler refuses it with an error that contains the text of its `// expect:` line."""
import re
import subprocess
import sys

source, include, *compiler = sys.argv[1:]
with open(source, encoding='utf-8') as file:
    expected = re.search(r'^// expect: (.*)$', file.read(), re.MULTILINE).group(1)


def compile_with(*flags):
    command = [*compiler, '-std=c++20', '-fsyntax-only', '-I' + include, *flags, source]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


plain = compile_with()
if plain.returncode != 0:
    sys.exit('does not compile as it stands:\n' + plain.stderr)
refused = compile_with('-DREFUSED')
if refused.returncode == 0:
    sys.exit('compiles, and should be refused')
errors = [line for line in refused.stderr.splitlines() if re.search('(error|note):', line)]
if not any(expected in line for line in errors):
    sys.exit(f'refused without "{expected}":\n{refused.stderr}')
