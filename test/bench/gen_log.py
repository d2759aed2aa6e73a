#!/usr/bin/env python3
"""Writes a reproducible combined access log: browsing sessions of many clients.

usage: gen_log.py LINES CLIENTS [SEED] > access.log

Each client comes for a few pages: a burst of files within a second, then a
think time.  Lines are in order of time; one second's lines are shuffled by
their sessions, as on a real server.
"""
import heapq
import random
import sys
import time

AGENTS = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, "
    "like Gecko) Chrome/120.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) "
    "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148 "
    "Safari/604.1",
]
FILES = ["/style.css", "/app.js", "/logo.png", "/photo-%d.jpg", "/font.woff2"]


def main():
    lines, clients = int(sys.argv[1]), int(sys.argv[2])
    rnd = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    start = 1700000000
    # a client's next page: (time, client, pages left)
    queue = [(start + rnd.random() * lines / 100, c, rnd.randint(1, 6))
             for c in range(clients)]
    heapq.heapify(queue)
    stamps = {}
    out = []
    written = 0
    while written < lines:
        at, client, pages = heapq.heappop(queue)
        ip = "10.%d.%d.%d" % (client >> 16 & 255, client >> 8 & 255,
                              client & 255)
        agent = AGENTS[client % len(AGENTS)]
        second = int(at)
        if second not in stamps:
            stamps = {second: time.strftime("%d/%b/%Y:%H:%M:%S +0000",
                                            time.gmtime(second))}
        for i in range(rnd.randint(1, 8)):
            path = "/page/%d" % rnd.randint(1, 9999)
            if i:
                path = FILES[i % len(FILES)]
                if "%d" in path:
                    path %= rnd.randint(1, 999)
            out.append('%s - - [%s] "GET %s HTTP/1.1" 200 %d '
                       '"https://www.example.com/" "%s"\n'
                       % (ip, stamps[second], path,
                          rnd.randint(200, 90000), agent))
            written += 1
            if written == lines:
                break
        think = rnd.lognormvariate(2.0, 1.2)
        if pages > 1:
            heapq.heappush(queue, (at + think, client, pages - 1))
        else:
            heapq.heappush(queue, (at + 600 + rnd.expovariate(1 / 7200),
                                   client, rnd.randint(1, 6)))
        if len(out) > 10000:
            sys.stdout.writelines(out)
            out = []
    sys.stdout.writelines(out)


if __name__ == "__main__":
    main()
