# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A private httpd without our modules, whose access logs are read back.

Life, ports and sockets are those of kastats_env; here are configuration and
logs.  All logs of LOGS are written at once, so that one traffic can be read
back through each of them; a Traffic is the part of them that came after it
was made.  The port that is logged stands last among the Listen lines: it is
there that httpd sends its own wake-ups.
"""
import os
import re
import socket

import kastats_env
from kastats_env import MODULES, MPMS, PATIENCE, Client, wait_for

__all__ = ["DUMMY", "LOGS", "LogHttpd", "MPMS", "PATIENCE", "Client",
           "Peer", "Traffic", "wait_for"]

DUMMY = "internal dummy connection"

# CustomLog lines as they stand in the configuration.
LOGS = {
    "kastats":
        r'"%{c}a %{remote}p %a %{begin:usec}t %D %k %X %H %>s %O %P %{tid}P '
        r'%v \"%r\" \"%{User-Agent}i\""',
    "combined":
        r'"%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""',
    "json":
        r'"{ \"at\": %{usec}t, \"peer\": \"%{c}a\", \"port\": %{remote}p, '
        r'\"request\": \"%r\", \"status\": %>s, \"us\": %D, '
        r'\"agent\": \"%{User-Agent}i\" }"',
    "comma":
        r'"%{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t,%{%z}t,%{c}a,%{remote}p,%D,'
        r'%>s,\"%r\",\"%{User-Agent}i\",%O" env=!nolog',
    "tab":
        r'"%{c}a\t%{remote}p\t%{begin:usec}t\t%{end:usec}t\t%>s\t%m\t%U\t%q'
        r'\t%H\t%{User-Agent}i"',
    "unique":
        r'"%h %l %u [%{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t] \"%r\" %>s %b %X '
        r'%{UNIQUE_ID}e %D \"%{User-Agent}i\""',
    "process":
        r'"%h %P %{begin:usec}t %D %X %>s \"%r\" \"%{User-Agent}i\""',
    "thread":
        r'"%h %P %{tid}P %{begin:usec}t %D %X %>s \"%r\" '
        r'\"%{User-Agent}i\""',
    "threadk":
        r'"%h %P %{tid}P %{begin:usec}t %D %k %X %>s \"%r\" '
        r'\"%{User-Agent}i\""',
    "k":
        r'"%h %{begin:usec}t %D %k %X %H %>s \"%r\" \"%{User-Agent}i\""',
}

MPM_CONF = {
    "prefork": "StartServers 24\nMinSpareServers 2\nMaxSpareServers 32\n"
               "ServerLimit 32\nMaxRequestWorkers 32\n",
    "worker": "StartServers 2\nServerLimit 4\nThreadLimit 16\n"
              "ThreadsPerChild 16\nMaxRequestWorkers 64\n"
              "MinSpareThreads 16\nMaxSpareThreads 64\n",
}
MPM_CONF["event"] = MPM_CONF["worker"]

CONF = """\
ServerRoot "{root}"
DefaultRuntimeDir "{root}/run"
PidFile "{root}/run/httpd.pid"
ErrorLog "{root}/error.log"
LogLevel warn
ServerName localhost
{user}
LoadModule mpm_{mpm}_module "{modules}/mod_mpm_{mpm}.so"
{load}
TypesConfig /dev/null
{mpm_conf}
Listen 127.0.0.1:{admin}
Listen 127.0.0.1:{port}
Timeout 20
DocumentRoot "{root}/htdocs"
<Directory "{root}">
    Require all granted
</Directory>
<VirtualHost 127.0.0.1:{admin}>
    ServerName admin.invalid
    CustomLog /dev/null "%t"
    {admin_conf}
</VirtualHost>
{logs}
{conf}
"""

ALWAYS = ("authz_core", "mime", "dir", "unique_id")


class LogHttpd(kastats_env.Httpd):
    """kastats_env.Httpd without mod_kastats, with all of LOGS."""

    def __init__(self, mpm, conf="", modules=(), mpm_conf=None,
                 admin_conf="", **kwargs):
        super().__init__(mpm, conf, modules, **kwargs)
        self.mpm_conf = MPM_CONF[mpm] if mpm_conf is None else mpm_conf
        self.admin_conf = admin_conf

    def log_path(self, name):
        return self.root / f"{name}.log"

    def log_line(self, name):
        """The line of the configuration that writes this log."""
        return f'CustomLog "{self.log_path(name)}" {LOGS[name]}'

    def write_conf(self):
        load = "\n".join(f'LoadModule {n}_module "{MODULES}/mod_{n}.so"'
                         for n in (*ALWAYS, *self.modules))
        user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
        (self.root / "httpd.conf").write_text(CONF.format(
            root=self.root, user=user, mpm=self.mpm, modules=MODULES,
            load=load, port=self.port, admin=self.admin,
            mpm_conf=self.mpm_conf, admin_conf=self.admin_conf,
            logs="\n".join(map(self.log_line, LOGS)),
            conf=self.conf.format(root=self.root, port=self.port,
                                  extra=self.extra)))

    def lines(self, name, start=0):
        path = self.log_path(name)
        if not path.exists():
            return []
        with path.open("rb") as f:
            f.seek(start)
            text = f.read().decode("ascii")
        # A line that is being written has no end yet.
        return text[:text.rfind("\n") + 1].splitlines()

    def traffic(self):
        return Traffic(self)


class Traffic:
    """What the logs say from now on."""

    def __init__(self, httpd):
        self.httpd = httpd
        self.start = {}
        for name in LOGS:
            path = httpd.log_path(name)
            self.start[name] = path.stat().st_size if path.exists() else 0

    def lines(self, name, n):
        """n lines, waited for; httpd's own wake-ups do not count."""
        def enough():
            lines = self.httpd.lines(name, self.start[name])
            own = [line for line in lines if not re.search(
                rf'{DUMMY}|"OPTIONS \* |\tOPTIONS\t\*', line)]
            assert len(own) <= n, own[n:]
            return lines if len(own) == n else None

        return wait_for(enough, f"{n} lines in {name}.log")

    def log(self, name, n, directory):
        """A file with these lines."""
        path = directory / f"{name}.log"
        path.write_text("\n".join(self.lines(name, n)) + "\n")
        return path


class Peer(Client):
    """A visitor with an address of its own in 127/8, who knows its port.

    It has a User-Agent: without one, from loopback, it is a health check.
    """

    def __init__(self, port, address="127.0.0.1"):
        self.sock = socket.create_connection(("127.0.0.1", port), PATIENCE,
                                             source_address=(address, 0))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.address, self.port = self.sock.getsockname()

    def request(self, path="/index.html", headers=(), **kwargs):
        return super().request(path, headers=["User-Agent: visitor", *headers],
                               **kwargs)

    def get(self, path="/index.html", **kwargs):
        return super().get(path, **kwargs)
