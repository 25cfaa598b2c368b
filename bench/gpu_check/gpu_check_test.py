#!/usr/bin/env python3
"""The check of a GPU host, on devices that are none, and on this host as it is.

usage: gpu_check_test.py FOLDER
"""

import json
import os
import subprocess
import sys

METRICS = {"h2d_1mib", "register_1mib", "prepare_f32", "prepare_f16", "prepare_bf16_over_copy",
           "epoch_over_max", "reuse_batches", "reuse_bad_words", "device_wait_share"}


def check(folder, table):
    done = subprocess.run([os.path.join(folder, "run"), "--table", table, "--quick"],
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def check_everywhere(folder, table):
    status, out, err = check(folder, table)
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    found = {line["metric"]: line["value"] for line in lines}
    if status != 0 or METRICS - set(found) or found["reuse_bad_words"] != 0:
        sys.exit(f"{table}: status {status}, without {METRICS - set(found)}\n{out}{err}")
    if any(line["case"] != table for line in lines):
        sys.exit(f"{table}: figures under another name\n{out}")


def check_here(folder):
    status, out, err = check(folder, "real")
    if status != 0 and ("no CUDA driver" not in err or "== contract" in out):
        sys.exit(f"real: status {status}, and not for lack of a driver\n{out}{err}")
    if status == 0 and not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/dxg"):
        sys.exit(f"real: passed without a GPU\n{out}")


for name in ("simulated", "host"):
    check_everywhere(sys.argv[1], name)
check_here(sys.argv[1])
