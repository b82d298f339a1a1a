#!/usr/bin/env python3
"""Runs examples/prometheus.cpp and reads its page: prometheus.py PROGRAM"""
import re
import subprocess
import sys
import urllib.request

PAGES = 20  # counters are as of a moment ago: the last page has what was done before the first

with subprocess.Popen([sys.argv[1], '', '0', str(PAGES)], stdout=subprocess.PIPE, text=True) as program:
    try:
        url = program.stdout.readline().strip()
        for _ in range(PAGES):
            with urllib.request.urlopen(url, timeout=20) as answer:
                page = answer.read().decode()
        assert program.wait(timeout=20) == 0
    finally:
        program.kill()  # nothing, if it has ended
values = dict(re.findall(r'^(sluice_\w+) (\d+)$', page, re.M))
types = re.findall(r'^# TYPE (sluice_\w+) counter$', page, re.M)
assert sorted(types) == sorted(values), page
assert values['sluice_transfers_written_total'] == '1', page
assert values['sluice_transfers_received_total'] == '1', page
assert int(values['sluice_bytes_written_total']) > 100, page
assert values['sluice_flow_mismatches_total'] == '0', page
