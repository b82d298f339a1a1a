"""`sluice audit` under test: as a proxy, on a capture of the same run, and whether both say the same."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

# What a finding says, apart from when and where it was seen.
WHAT = ('direction', 'frame', 'channel', 'handle', 'performative', 'rule', 'severity', 'expected', 'actual', 'detail')


def what(finding):
    return (finding['connection'],) + tuple(finding.get(k) for k in WHAT)


class Proxy:
    """`sluice audit --listen ... --forward ...` in front of 127.0.0.1:port."""

    def __init__(self, program, port, *options):
        self.process = subprocess.Popen(
            [program, 'audit', '--listen', '127.0.0.1:0', '--forward', '127.0.0.1:%d' % port, '--json', *options],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = self.process.stderr.readline()
        match = re.match(r'auditing 127\.0\.0\.1:(\d+) -> ', first)
        if not match:
            raise RuntimeError('no proxy: ' + first + self.process.stderr.read())
        self.port = int(match.group(1))
        self.findings, self.remarks = [], []
        self.threads = [threading.Thread(target=self.read_findings), threading.Thread(target=self.read_remarks)]
        for t in self.threads:
            t.start()

    def read_findings(self):
        for line in self.process.stdout:
            self.findings.append(json.loads(line))

    def read_remarks(self):
        self.remarks += self.process.stderr

    def wait(self):
        """Its exit status, once it ends by itself."""
        status = self.process.wait(timeout=60)
        for t in self.threads:
            t.join()
        return status

    def stop(self):
        """Ends it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def summary(self):
        return ''.join(self.remarks)


class Capture:
    """tcpdump on the loopback device for one port; `why_not` says why if this user may not."""

    def __init__(self, port):
        self.why_not = None
        self.folder = tempfile.mkdtemp(prefix='sluice-capture.')
        self.file = os.path.join(self.folder, 'run.pcap')
        self.port = port
        tcpdump = shutil.which('tcpdump', path=os.environ.get('PATH', '') + ':/usr/sbin')
        if not tcpdump:
            raise RuntimeError('no tcpdump: install the package of that name')
        root = [] if os.geteuid() == 0 else ['sudo', '-n']
        self.process = subprocess.Popen(
            root + [tcpdump, '-i', 'lo', '-s', '0', '-B', '65536', '--immediate-mode', '-U', '-w', self.file,
                    'tcp port %d' % port], text=True, stderr=subprocess.PIPE)
        said = []
        for line in self.process.stderr:  # until it listens
            said.append(line)
            if 'listening on' in line:
                return
        self.process.wait()
        self.why_not = ''.join(said).strip() or 'tcpdump ended with %d' % self.process.returncode

    def findings(self, program):
        """What the auditor says of the capture, and its tables."""
        # All packets of connections that have ended are in the kernel's buffer: reading it takes a moment.
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=20)
        done = subprocess.run([program, 'audit', '--json', '--port', str(self.port), self.file], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        shutil.rmtree(self.folder)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def same_findings(proxy, capture, program):
    """Whether a capture of the proxy's run gives the proxy's findings; prints what differs."""
    if capture.why_not:
        print('    not captured, for this user may not: %s (the unit tests AuditCapture.* write captures themselves)'
              % capture.why_not)
        return True
    found, tables = capture.findings(program)
    live, recorded = [what(f) for f in proxy.findings], [what(f) for f in found]
    # Between connections that were open together the order is by time of arrival, which may differ.
    if sorted(map(str, live)) == sorted(map(str, recorded)):
        print('    the capture gives the same %d findings' % len(live))
        return True
    print('    the capture gives OTHER findings; only live: %s; only recorded: %s\n%s' % (
        [f for f in live if f not in recorded], [f for f in recorded if f not in live], tables))
    return False
