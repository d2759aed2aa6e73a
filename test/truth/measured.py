# Licensed under the Apache License, Version 2.0; see LICENSE.
"""From what was seen to numbers: the mean, p99.9 and peak of how many held at
once.  The window is the model's: first request to last response; the mean
counts all held time, distributions only what lies within."""
import threading
import time

import served

EVERY_S = 0.2
SCOREBOARD_EVERY = 3  # of these


def steps_of(spans):
    steps = [(begin, 1) for begin, _ in spans]
    steps += [(end, -1) for _, end in spans]
    return sorted(steps)


def distribution(spans, begin, end):
    """{count: seconds} within [begin, end)."""
    times, count, at = {}, 0, begin
    for when, step in steps_of(spans):
        until = min(when, end)
        if until > at:
            times[count] = times.get(count, 0) + until - at
            at = until
        count += step
    if end > at:
        times[count] = times.get(count, 0) + end - at
    return times


def quantile(times, share):
    """The smallest count that all but `share` of the time stays within."""
    left = sum(times.values())
    limit = left * share
    for count in sorted(times):
        left -= times[count]
        if left <= limit:
            return count
    return 0


def summary(spans, window):
    begin, end = window
    times = distribution(spans, begin, end)
    return {"mean": sum(b - a for a, b in spans) / (end - begin),
            "p999": quantile(times, 0.001), "peak": max(times, default=0)}


class Onlooker(threading.Thread):
    """Looks at socket tables and scoreboards of all servers of a round."""

    def __init__(self, servers):
        super().__init__()
        self.servers = servers
        self.done = threading.Event()
        self.at, self.socks = [], {s.port: [] for s in servers}
        self.boards = {s.port: [] for s in servers}
        self.error = None

    def look(self, turn):
        self.at.append(time.time())
        for port, n in served.sockets(self.socks).items():
            self.socks[port].append(n)
        # One server a turn, so that all do not look at once.
        for i, server in enumerate(self.servers):
            if turn % SCOREBOARD_EVERY == i % SCOREBOARD_EVERY:
                self.boards[server.port].append(
                    (time.time(), server.scoreboard()))

    def run(self):
        turn = 0
        begin = time.monotonic()
        try:
            while not self.done.wait(max(
                    0, begin + turn * EVERY_S - time.monotonic())):
                self.look(turn)
                turn += 1
        except Exception as error:  # told to the one who waits
            self.error = error

    def finish(self):
        self.done.set()
        self.join()
        if self.error:
            raise self.error

    @staticmethod
    def area(points):
        return sum((b[0] - a[0]) * a[1] for a, b in zip(points, points[1:]))

    def means(self, server, window):
        seconds = window[1] - window[0]
        return {"sockets": self.area(list(zip(
                    self.at, self.socks[server.port]))) / seconds,
                "scoreboard": self.area(self.boards[server.port]) / seconds}


def measure(server, onlooker):
    """All numbers of one run."""
    requests = server.requests()
    window = (min(b for b, _ in requests), max(e for _, e in requests))
    connections = server.connections()
    spans, told = server.told()
    held = summary([(a, b) for a, b, _ in connections], window)
    totals = server.totals()
    return {"timeout_s": server.timeout_s,
            "window_s": window[1] - window[0],
            "requests": len(requests),
            "opened": sum(1 for _, _, n in connections if n),
            "silent": sum(1 for _, _, n in connections if not n),
            "held": held,
            "busy": summary(requests, window),
            "closes": {k: n for k, n in totals["closes"].items() if n},
            "linger_s": totals.get("linger_s"),
            "idle_tail_s": totals.get("idle_tail_s"),
            "first_request_s": totals.get("first_request_s"),
            "visitors": dict(told, opened=len(spans),
                             mean=summary(spans, window)["mean"]),
            **onlooker.means(server, window)}
