# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Logs of browsing sessions, the same for the same seed."""
import heapq
import random
import time

KASTATS = ('"%{c}a %{remote}p %a %{begin:usec}t %D %k %X %H %>s %O %P '
           '%{tid}P %v \\"%r\\" \\"%{User-Agent}i\\""')
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"
START = 1_770_000_000  # the start of no hour
TIMEOUT = 5.0


def requests(seed, seconds, clients, burst=8):
    """(start in s, client, port, %k, service in s), in order of start.  Each
    client keeps one connection for as long as TIMEOUT lets it."""
    dice = random.Random(seed)
    queue = [(dice.uniform(0, seconds / 4), c) for c in range(clients)]
    heapq.heapify(queue)
    state = {}  # client -> (end of its last response, port, %k)
    while queue:
        at, client = heapq.heappop(queue)
        if at >= seconds:
            continue
        for _ in range(dice.randint(1, burst)):
            end, port, keepalives = state.get(client, (None, 1024, -1))
            if end is None or at - end > TIMEOUT:
                port, keepalives = port % 60000 + 1025, -1
            service = dice.lognormvariate(-4, 1)
            yield at, client, port, keepalives + 1, service
            state[client] = (at + service, port, keepalives + 1)
            at += service + dice.expovariate(8)
        heapq.heappush(queue, (at + dice.lognormvariate(1.8, 1.2), client))


def _host(seed, client):
    return f"10.{seed % 256}.{client >> 8}.{client & 255}"


def combined(seed, seconds, clients, vhosts=0):
    """A log of the combined format, with %v in front if vhosts are wanted."""
    lines = []
    for at, client, _, _, _ in sorted(requests(seed, seconds, clients)):
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000",
                              time.gmtime(START + int(at)))
        vhost = f"www{client % vhosts}.example:80 " if vhosts else ""
        lines.append(f'{vhost}{_host(seed, client)} - - [{stamp}] "GET '
                     f'/{client % 7}.html HTTP/1.1" 200 {500 + client} "-" '
                     f'"{AGENT}"\n')
    return "".join(lines)


def kastats(seed, seconds, clients):
    """A log of the format kastats: connections are told by their ports."""
    lines = []
    for at, client, port, k, service in sorted(
            requests(seed, seconds, clients)):
        ip = _host(seed, client)
        lines.append(f'{ip} {port} {ip} {int((START + at) * 1e6)} '
                     f'{int(service * 1e6)} {k} + HTTP/1.1 200 900 7 8 '
                     f'www.example "GET /{client % 7}.html HTTP/1.1" '
                     f'"{AGENT}"\n')
    return "".join(lines)
