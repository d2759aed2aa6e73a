# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The sample traffic of `make demo`; Python's standard library only.

    visitors.py port              prints a loopback port that is free just now
    visitors.py fetch URL         prints what answers there
    visitors.py visit PORT FOR    visitors come and go for that many seconds

Most visitors browse: a page, a burst of what belongs to it, a time to think,
and so on.  Others leave early, abort, ask for no keep-alive or for nothing at
all, so that connections end in every way and pauses lie on both sides of any
KeepAliveTimeout.  The dice are seeded: the same visitors come every time.
"""
import asyncio
import collections
import contextlib
import random
import re
import socket
import sys
import time
import urllib.request

HOST = "127.0.0.1"
PER_SECOND = 9.0      # visitors that arrive, in the mean
RUSH = 2.5            # times as many in the middle fifth
THINK = (0.1, 1.1)    # log of the median in seconds, and sigma
SILENT = 3.0          # longest that one waits who asks for nothing
NETWORK = (0.004, 0.03)  # from an answer to the next request, in a burst
LEAVING = 3.0         # before time is up no more arrive
LATE = 8.0            # longest that anybody stays after it
FEWEST = 200          # connections; fewer would be no sample
PARTS = ["/style.css", "/script.js", *(f"/photo{i}.jpg" for i in range(1, 7))]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) sample visitor"
CRAWLER = "sample-crawler/1.0"


class Refused(Exception):
    """The server closed before it answered."""


class Connection:
    """One HTTP/1 connection of one visitor."""

    def __init__(self, site, address, agent=BROWSER):
        self.site = site
        self.address = address
        self.agent = agent
        self.fresh = True

    async def open(self):
        # Every visitor has an address of its own where all of 127/8 is ours.
        for local in ((self.address, 0), None):
            try:
                self.reader, self.writer = await asyncio.open_connection(
                    HOST, self.site.port, local_addr=local)
                break
            except OSError:
                if local is None:
                    raise
        self.site.count["connections"] += 1
        return self

    def ask(self, path, version="1.1", last=False):
        self.site.count["requests"] += 1
        self.writer.write((
            f"GET {path} HTTP/{version}\r\nHost: localhost\r\n"
            f"User-Agent: {self.agent}\r\n"
            + ("Connection: close\r\n" if last else "") + "\r\n").encode())

    async def answer(self):
        """Reads one response; True if the server keeps the connection."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            size = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            await self.reader.readexactly(int(size[1]) if size else 0)
        except (asyncio.IncompleteReadError, OSError) as e:
            raise Refused from e
        if not re.match(rb"HTTP/1\.[01] 200 ", head):
            self.site.count["failed"] += 1
        self.fresh = False
        return not re.search(rb"(?i)\r\nconnection: *close", head)

    async def closed_by_server(self):
        with contextlib.suppress(OSError):
            while await self.reader.read(65536):
                pass
        self.close()

    def close(self):
        self.writer.close()

    def abort(self):
        self.writer.transport.abort()


class Site:
    """Where the visitors go, until when, and what they have counted."""

    def __init__(self, port, seconds):
        self.port = port
        self.end = time.monotonic() + seconds
        self.count = collections.Counter()

    def left(self):
        return self.end - time.monotonic()


class Tab:
    """A browser's connection: opened when there is none, or none any more."""

    def __init__(self, site, address, dice):
        self.site = site
        self.address = address
        self.dice = dice
        self.connection = None

    async def get(self, paths):
        for path in paths:
            # Loopback has no distance: the next request would be there before
            # httpd is done with the last one, as if pipelined.
            await asyncio.sleep(self.dice.uniform(*NETWORK))
            await self.one(path)

    async def one(self, path):
        while True:
            if self.connection is None:
                self.connection = await Connection(
                    self.site, self.address).open()
            connection = self.connection
            try:
                connection.ask(path)
                if not await connection.answer():
                    await self.leave(early=False)
                return
            except Refused:
                # Closed while it was idle: again on another, as browsers do.
                self.connection = None
                connection.close()
                self.site.count["requests"] -= 1
                if connection.fresh:
                    self.site.count["failed"] += 1
                    return

    async def leave(self, early):
        connection, self.connection = self.connection, None
        if connection is None:
            return
        if early:
            connection.close()
        else:
            await connection.closed_by_server()


async def think(site, dice, longest=15.0):
    """False if the visitor has no time for another page."""
    pause = min(dice.lognormvariate(*THINK), longest)
    await asyncio.sleep(max(0, min(pause, site.left())))
    return site.left() > 0


async def browse(site, address, dice, early=False):
    tabs = [Tab(site, address, dice) for _ in range(dice.choice((1, 2, 2, 3)))]
    for _ in range(dice.randint(1, 5)):
        await tabs[0].one(f"/page{dice.randint(1, 4)}.html")
        parts = dice.sample(PARTS, dice.randint(2, len(PARTS)))
        await asyncio.gather(*(tab.get(parts[i::len(tabs)])
                               for i, tab in enumerate(tabs)))
        if not await think(site, dice):
            break
    if early:
        await asyncio.sleep(dice.uniform(0.05, 0.5))
    await asyncio.gather(*(tab.leave(early) for tab in tabs))


async def leave_early(site, address, dice):
    await browse(site, address, dice, early=True)


async def no_keepalive(site, address, dice):
    for _ in range(dice.randint(1, 3)):
        one = await Connection(site, address, CRAWLER).open()
        one.ask(f"/page{dice.randint(1, 4)}.html", last=True)
        await one.answer()
        await one.closed_by_server()
        await asyncio.sleep(dice.uniform(0.1, 0.4))


async def http10(site, address, dice):
    one = await Connection(site, address, "sample-monitor/1.0").open()
    one.ask(f"/page{dice.randint(1, 4)}.html", version="1.0")
    await one.answer()
    await one.closed_by_server()


async def crawl(site, address, dice):
    """More requests than MaxKeepAliveRequests allows on one connection."""
    one = await Connection(site, address, CRAWLER).open()
    for _ in range(105):
        one.ask(f"/page{dice.randint(1, 4)}.html")
        if not await one.answer():
            break
        await asyncio.sleep(dice.uniform(*NETWORK))
    await one.closed_by_server()


async def pipeline(site, address, dice):
    one = await Connection(site, address, CRAWLER).open()
    paths = dice.sample(PARTS, 4)
    for path in paths:
        one.ask(path)
    for _ in paths:
        await one.answer()
    await one.closed_by_server()


async def abort(site, address, dice):
    one = await Connection(site, address).open()
    one.ask("/film.mp4")
    await one.reader.read(1000)
    await asyncio.sleep(dice.uniform(0.05, 0.3))
    one.abort()


async def silent(site, address, dice):
    """A connection opened in advance that is never needed."""
    one = await Connection(site, address).open()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(one.closed_by_server(),
                               dice.uniform(0.5, SILENT))
    one.close()


# Of every 60 visitors, in an order that the dice give.
KINDS = ((browse, 36), (leave_early, 11), (no_keepalive, 4), (http10, 2),
         (silent, 3), (abort, 2), (pipeline, 1), (crawl, 1))


def kinds(dice):
    deck = [kind for kind, n in KINDS for _ in range(n)]
    while True:
        dice.shuffle(deck)
        yield from deck


async def visitor(site, kind, address, dice):
    try:
        await kind(site, address, dice)
    except (Refused, OSError):
        site.count["failed"] += 1


async def arrive(site, seconds, dice):
    """A list of visits, as tasks; returns when time is up."""
    visits = []
    for kind in kinds(dice):
        share = 1 - site.left() / seconds
        rate = PER_SECOND * (RUSH if 0.4 < share < 0.6 else 1)
        await asyncio.sleep(dice.expovariate(rate))
        if site.left() <= 0:
            return visits
        n = len(visits) + 1
        visits.append(asyncio.create_task(visitor(
            site, kind, f"127.1.{n // 250}.{n % 250 + 1}",
            random.Random(n))))


async def visit(port, seconds):
    open_for = seconds - LEAVING
    site = Site(port, open_for)
    visits = await arrive(site, open_for, random.Random(1))
    _, late = await asyncio.wait(visits, timeout=LEAVING + LATE)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    await asyncio.sleep(max(0, site.left() + LEAVING))
    print(f"{len(visits)} visitors made {site.count['requests']:,} requests "
          f"on {site.count['connections']:,} connections.")
    if site.count["failed"]:
        sys.exit(f"{site.count['failed']} requests failed")
    if late:
        sys.exit(f"{len(late)} visitors were not done in time")
    if site.count["connections"] < FEWEST:
        sys.exit(f"fewer than {FEWEST} connections: the machine is too busy")


def free_port():
    """Not one that the system might give an outgoing connection meanwhile."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind((HOST, port))
            print(port)
            return


def fetch(url):
    # No proxy of the environment: it would not find this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10) as answer:
            body = answer.read().decode()
    except OSError as e:
        sys.exit(f"{url}: {e}")
    title = re.search(r"<title>(.*?)</title>", body, re.S)
    if not title:
        sys.exit(f"{url}: no page")
    print(f'{answer.status} {answer.reason}, {len(body):,} bytes, '
          f'"{title[1].strip()}"')


def main(args):
    if args == ["port"]:
        free_port()
    elif args[:1] == ["fetch"] and len(args) == 2:
        fetch(args[1])
    elif args[:1] == ["visit"] and len(args) == 3:
        asyncio.run(visit(int(args[1]), float(args[2])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
