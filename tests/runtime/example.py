#!/usr/bin/env python3
"""example.py PROGRAM SOURCE PAGE: the page quotes the example as it is, and what it prints."""
import subprocess
import sys

program, source, page = sys.argv[1:]
with open(source, encoding='utf-8') as file:
    code = file.read().split('\n', 1)[1].strip()  # without its head comment
with open(page, encoding='utf-8') as file:
    text = file.read()
printed = subprocess.run([program], capture_output=True, text=True, timeout=20, check=True).stdout
if f'```cpp\n{code}\n```' not in text:
    sys.exit(f'{page} does not quote {source} as it is')
if f'```\n{printed.strip()}\n```' not in text:
    sys.exit(f'{page} does not show what the example prints:\n{printed}')
