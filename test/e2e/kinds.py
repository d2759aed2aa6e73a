# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Logs of virtual hosts whose visitors behave differently, with %v."""
import random

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"
FORMAT = ('%{c}a %{remote}p %a %{begin:usec}t %D %k %X %H %>s %O %P '
          '%{tid}P %v "%r" "%{User-Agent}i"')
START = 1_770_000_000


class Log:
    """Connections of one server, put into one log."""

    def __init__(self, seed, seconds, timeout=5.0):
        self.dice = random.Random(seed)
        self.seconds, self.timeout = seconds, timeout
        self.lines = []
        self.clients = 0

    def connection(self, vhost, begin, requests):
        """One client's requests, (gap, path, service) each; a gap over the
        timeout in force takes a new connection."""
        self.clients += 1
        client = self.clients
        ip = f"10.{client >> 16 & 255}.{client >> 8 & 255}.{client & 255}"
        at, port, k = begin, 2000, -1
        for gap, path, service in requests:
            if k >= 0 and gap > self.timeout:
                port, k = port + 1, -1
            at, k = at + gap, k + 1
            self.lines.append((at, f'{ip} {port} {ip} '
                               f'{int((START + at) * 1e6)} '
                               f'{int(service * 1e6)} {k} + HTTP/1.1 200 900 '
                               f'{client} 8 {vhost} "GET {path} HTTP/1.1" '
                               f'"{AGENT}"\n'))
            at += service

    def visits(self, vhost, per_second, requests):
        """Visitors at random, each with what requests(dice) gives."""
        at = self.dice.expovariate(per_second)
        while at < self.seconds:
            self.connection(vhost, at, requests(self.dice))
            at += self.dice.expovariate(per_second)

    def write(self, path):
        path.write_text("".join(line for _, line in sorted(self.lines)))
        return path


def pages(dice):
    """A page with its files, some more after a few seconds of reading."""
    first = True
    for _ in range(dice.randint(2, 5)):
        yield (0 if first else dice.uniform(1, 4.5)), "/a.html", 0.01
        for i in range(3):
            yield 0.05, f"/{i}.css", 0.005
        first = False


def burst(dice):
    """All at once, then gone."""
    for i in range(dice.randint(3, 6)):
        yield (0.1 if i else 0), f"/{i}.png", 0.005


def call(dice):
    """One call of a program, and no other."""
    yield 0, "/api/search.php", dice.lognormvariate(-1.2, 0.5)


def poll(_dice):
    """The same every eleven seconds."""
    for i in range(20):
        yield (11 if i else 0), "/news.json", 0.005
