# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A web server in name spaces of its own: its network, its processes, its
files, if need be its root directory and a limit on its memory.

`Debian` is a fresh installation of Debian's package: the configuration files
as the package has them (by dpkg's own sums), what its installation enables,
started by `apache2ctl start` on port 80.  The machine's own server, its logs
and its configuration are neither seen nor touched.
"""
import contextlib
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

import cli
from httpd import PATIENCE, wait_for

ETC = pathlib.Path("/etc/apache2")
SITE = pathlib.Path("/usr/share/apache2/default-site/index.html")
HERE = pathlib.Path(__file__).resolve().parent
VISIT_REQUESTS = 5
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")

# As apache2.postinst does after a fresh installation.
ENABLE = """
a2enmod -m -q mpm_event authz_host auth_basic access_compat authn_file \\
    authz_user alias dir autoindex env mime negotiation setenvif filter \\
    deflate status reqtimeout
a2enconf -m -q charset localized-error-pages other-vhosts-access-log \\
    security serve-cgi-bin
a2ensite -q 000-default
"""

# What a process of the test must not share with the machine.
MOUNTS = """
set -e
mount --bind "$1/etc" /etc/apache2
mount --bind "$1/html" /var/www/html
mount --bind "$1/modules" /usr/lib/apache2/modules
for directory in /var/log/apache2 /var/lib/apache2 /run; do
    mount -t tmpfs -o mode=755 tmpfs "$directory"
done
mkdir /run/lock
chgrp adm /var/log/apache2
chmod 750 /var/log/apache2
"""

# The same as a root directory of its own, where the machine's is not seen.
ROOT = """
set -e
root="$1/root"
mount -t tmpfs -o mode=755 tmpfs "$root"
cd "$root"
mkdir -p usr etc/apache2 proc dev tmp run/lock var/log/apache2 \\
    var/lib/apache2 var/www/html var/cache/apache2 srv opt/ka \
    sys/fs/cgroup/memory
for link in bin sbin lib lib64; do ln -s "usr/$link" "$link"; done
ln -s /run var/run
ln -s /run/lock var/lock
mount --bind /usr usr
mount --bind /proc proc
mount --bind /dev dev
mount --bind "$1/etc" etc/apache2
mount --bind "$1/html" var/www/html
mount --bind "$2" opt/ka
mount --bind "$1/modules" usr/lib/apache2/modules
cp /etc/passwd /etc/group /etc/mime.types etc/
# Of its own name space of groups: the directory is its own group.
mount -t cgroup -o memory cgroup sys/fs/cgroup/memory 2>/dev/null || true
echo 'container.test' > etc/hostname
"""

UP = """
python3 -c '
import fcntl, socket, struct
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sH", b"lo", 1))'
"""

# The first process: without it the kernel ends all others.
WAIT = """
: > "$1/ready"
read -r nothing || true
"""

VISIT = """
import sys
sys.path.insert(0, sys.argv[1])
from httpd import Peer
port, clients, requests = map(int, sys.argv[2:5])
for i in range(clients):
    peer = Peer(port, f"127.0.{2 + i // 200}.{i % 200 + 1}")
    for k in range(requests):
        assert peer.get(sys.argv[5])[0] == 200
    peer.close()
"""


def needs():
    """Skips where the kernel or the user does not let us."""
    if os.geteuid() != 0:
        pytest.skip("name spaces need root")
    if not ETC.is_dir() or not SITE.exists() or not shutil.which("a2enmod"):
        pytest.skip("needs Debian's package apache2")
    if subprocess.run(["unshare", "-mnpCf", "--mount-proc", "true"],
                      check=False, capture_output=True).returncode:
        pytest.skip("name spaces of its own: unshare is not allowed here")


def conffiles():
    """(path, md5) of the package's configuration files."""
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Conffiles}",
                           "apache2"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^ (/etc/apache2/\S+) ([0-9a-f]{32})$", said, re.M)


def copy_conffiles(directory):
    """A copy of them as they came with the package."""
    for path, md5 in conffiles():
        tried = [pathlib.Path(path + s) for s in
                 ("", ".dpkg-dist", ".ucf-dist", ".dpkg-new")]
        good = [p for p in tried if p.exists() and
                hashlib.md5(p.read_bytes()).hexdigest() == md5]
        if not good:
            pytest.skip(f"{path} is not as the package apache2 has it: "
                        f"reinstall the package's own")
        to = directory / pathlib.Path(path).relative_to(ETC)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(good[0], to)
    for kind in ("mods", "conf", "sites"):
        (directory / f"{kind}-enabled").mkdir()


class MemoryGroup:
    """A control group with a limit on memory, below this process's own."""

    def __init__(self, limit):
        own = re.search(r"^\d+:memory:(/.*)$", pathlib.Path(
            "/proc/self/cgroup").read_text(), re.M)
        self.path = GROUPS / (own[1].lstrip("/") if own else "") / \
            f"ka-test-{os.getpid()}-{random.randrange(1 << 30)}"
        try:
            if not own:
                raise OSError("no version 1 memory group")
            self.path.mkdir()
            (self.path / "memory.limit_in_bytes").write_text(str(limit))
        except OSError as error:
            pytest.skip(f"a control group with a limit on memory: {error}")

    def remove(self):
        wait_for(lambda: not (self.path / "cgroup.procs").read_text(),
                 "an empty control group")
        self.path.rmdir()


class Debian:
    def __init__(self, own_root=False, memory=None, kastats=False,
                 setup=None):
        needs()
        self.group = MemoryGroup(memory) if memory else None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ka-box-"))
        self.directory.chmod(0o755)
        self.own_root = own_root
        copy_conffiles(self.directory / "etc")
        (self.directory / "html").mkdir()
        (self.directory / "root").mkdir()
        shutil.copy(SITE, self.directory / "html")
        shutil.copytree("/usr/lib/apache2/modules",
                        self.directory / "modules")
        self.enable = ENABLE
        if kastats:
            self.add_kastats()
        if setup:
            setup(self.directory / "etc")
        self.process = None
        self.inner = None  # first process of the name spaces, seen from here

    def add_kastats(self):
        """By the README."""
        shutil.copy(cli.BUILD / "mod_kastats.so", self.directory / "modules")
        for name in ("kastats.load", "kastats.conf"):
            shutil.copy(cli.ROOT / "conf-samples" / name,
                        self.directory / "etc" / "mods-available")
        self.enable += "a2enmod -q kastats\n"

    # ---- life

    def script(self):
        inside = f"{self.enable}apache2ctl start\n{WAIT}apache2ctl stop\n"
        if not self.own_root:
            return MOUNTS + UP + inside
        (self.directory / "inside.sh").write_text(
            "set -e\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
            + inside.replace('"$1/ready"', "/opt/ka/ready"))
        return (ROOT + UP + 'cp "$1/inside.sh" opt/\n'
                'exec chroot "$root" /bin/sh /opt/inside.sh\n')

    def start(self):
        tools = self.directory / "tools"  # what the inside sees of ours
        tools.mkdir()
        shutil.copy(cli.KAADVISOR, tools)
        enter = [] if not self.group else [
            "sh", "-c", f'echo $$ > {self.group.path}/cgroup.procs; exec "$@"',
            "sh"]
        with open(self.directory / "said", "wb") as said:
            self.process = subprocess.Popen(
                [*enter, "unshare", "-mnpCf", "--mount-proc", "--kill-child",
                 "sh", "-c", self.script(), "sh", self.directory, tools],
                stdin=subprocess.PIPE, stdout=said, stderr=said,
                env=cli.environment(), start_new_session=True)
        ready = (tools if self.own_root else self.directory) / "ready"
        wait_for(lambda: self.alive() and ready.exists(), "the box")
        self.inner = self.child_of(self.process.pid)
        wait_for(lambda: self.alive() and self.pid(), "its httpd")
        return self

    def alive(self):
        assert self.process.poll() is None, self.said()
        return True

    def said(self):
        return (self.directory / "said").read_text(errors="replace")

    @staticmethod
    def child_of(pid):
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return int(text.split()[0])

    def stop(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            if self.group:
                self.group.remove()

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            if self.process:
                self.process.kill()
                self.process.wait()
            raise

    def __exit__(self, kind, value, trace):
        self.stop()
        if kind is None:
            assert self.process.returncode == 0, self.said()
            shutil.rmtree(self.directory, ignore_errors=True)

    # ---- looking, from outside

    def path(self, path):
        """A path of the server's, as this process opens it."""
        root = f"/proc/{self.pid() or self.inner}/root"
        return pathlib.Path(root + str(path))

    def pid(self):
        """Of httpd's parent, as this process sees it; None: not yet."""
        with contextlib.suppress(OSError, IndexError):
            for child in pathlib.Path(
                    f"/proc/{self.inner}/task/{self.inner}/children"
            ).read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text() == \
                        "apache2\n":
                    return int(child)
        return None

    # ---- inside

    def nsenter(self, *command):
        return ["nsenter", "-t", str(self.inner), "-m", "-n", "-p", "-C",
                "-r", "-w", *map(str, command)]

    def run(self, *command, status=0, **kwargs):
        done = subprocess.run(self.nsenter(*command), capture_output=True,
                              timeout=PATIENCE, env=cli.environment(),
                              check=False, **kwargs)
        assert done.returncode == status, (done.returncode, done.stdout,
                                           done.stderr)
        return done

    @property
    def kaadvisor(self):
        return "/opt/ka/kaadvisor" if self.own_root \
            else self.directory / "tools" / "kaadvisor"

    def visit(self, clients, requests=3, path="/", port=80):
        """Visitors, each on a connection and from an address of its own."""
        subprocess.run(["nsenter", "-t", str(self.inner), "-n",
                        sys.executable, "-B", "-c", VISIT, HERE, str(port),
                        str(clients), str(requests), path], check=True,
                       capture_output=True, timeout=PATIENCE,
                       env=cli.environment())


def day(visits, until=None, clients=40, step=60):
    """A combined log of visits, VISIT_REQUESTS requests each, a second apart;
    the last one begins at `until`."""
    until = time.time() if until is None else until
    lines = []
    for i in range(visits):
        for k in range(VISIT_REQUESTS):
            at = time.gmtime(until - (visits - 1 - i) * step + k)
            lines.append(
                f"192.0.2.{i % clients + 1} - - "
                f"[{time.strftime('%d/%b/%Y:%H:%M:%S', at)} +0000] "
                f'"GET /{k}.html HTTP/1.1" 200 512 "-" "test"\n')
    return "".join(lines)
