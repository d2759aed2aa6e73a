# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Scripts for visitors, the same for the same seed (visitors.h says how they
read).  What is known of each: how long its visitors think."""
import collections
import random

SECOND = 1_000_000
NEVER = -1

# tls, conf: of the server.  log: quantities that the budgets hold for where the
# profile is learned from a log; a log does not show how clients close.
Scenario = collections.namedtuple(
    "Scenario", "name text make tls conf log", defaults=(
        False, "", ("mean", "p999", "peak", "opened")))


def us(seconds):
    return round(seconds * SECOND)


def address(n):
    return f"127.{1 + n // 62500}.{n // 250 % 250}.{1 + n % 250}"


def sleep(dice, low, high):
    """A handler that takes so long, in seconds."""
    return f"/sleep?{us(dice.uniform(low, high))}"


def think(dice):
    """Seconds between pages: a click, reading, and coming back."""
    kind = dice.random()
    if kind < 0.3:
        return dice.uniform(0.2, 0.9)
    if kind < 0.8:
        return min(dice.lognormvariate(0.9, 0.7), 20)
    return min(dice.lognormvariate(2.0, 0.5), 20)


class Script:
    """Lines, as they are added."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.lines = []
        self.sessions = 0

    def session(self, start, parallel=6, lazy=False, close=None, leave=None):
        self.sessions += 1
        times = (NEVER if t is None else us(t) for t in (close, leave))
        self.lines.append("session {} {} {} {} {} {}".format(
            us(start), address(self.sessions), parallel, int(lazy), *times))

    def page(self, think_s, hint=None):
        self.lines.append(
            f"page {us(think_s)} {NEVER if hint is None else us(hint)}")

    def get(self, stage, path, rate=0):
        self.lines.append(f"get {stage} {rate} {path}")

    def text(self):
        return "\n".join(self.lines) + "\n"


def arrivals(dice, rate, seconds):
    """Poisson."""
    at = dice.expovariate(rate)
    while at < seconds:
        yield at
        at += dice.expovariate(rate)


def page_of(script, most=5, slow=0.3):
    """A document, then what it needs, at once."""
    dice = script.dice
    script.get(0, sleep(dice, 0.05, slow))
    for _ in range(dice.randint(0, most)):
        script.get(1, "/part.html" if dice.random() < 0.5
                   else sleep(dice, 0.02, 0.1))


def browse(script, hint=False):
    dice = script.dice
    pages = 1
    while dice.random() < 0.75 and pages < 8:
        pages += 1
    for i in range(pages):
        script.page(think(dice) if i else 0,
                    dice.uniform(0.5, 3) if hint and dice.random() < 0.5
                    else None)
        page_of(script)


def browsing(script, seconds, rate=4.0, **how):
    hint = how.pop("hint", False)
    for at in arrivals(script.dice, rate, seconds):
        script.session(at, **how)
        browse(script, hint)


def early(script, seconds):
    """Half close what was idle for 0.3 to 6 s; a quarter all at the end."""
    dice = script.dice
    for at in arrivals(dice, 4.0, seconds):
        kind = dice.random()
        script.session(at, close=dice.uniform(0.3, 6) if kind < 0.5 else None,
                       leave=dice.uniform(0, 3) if kind > 0.75 else None)
        browse(script)


def lazy(script, seconds):
    """Programs with a pool: two thirds do not look until the next use."""
    dice = script.dice
    for at in arrivals(dice, 4.0, seconds):
        script.session(at, parallel=3, lazy=dice.random() < 0.67, leave=14)
        browse(script)


def slow(script, seconds):
    """A part reads 200 kB at 25 to 150 kB a second; handlers up to 2 s."""
    dice = script.dice
    for at in arrivals(dice, 2.0, seconds):
        reader = dice.random() < 0.4
        script.session(at, parallel=2 if reader else 6)
        if not reader:
            for i in range(dice.randint(1, 4)):
                script.page(think(dice) if i else 0)
                page_of(script, most=3, slow=2.0)
            continue
        for i in range(dice.randint(1, 3)):
            script.page(think(dice) if i else 0)
            script.get(0, "/big.bin", dice.randrange(25000, 150000))


def bursts(script, seconds):
    """A campaign each ten seconds: 12 visitors within one, over few others."""
    dice = script.dice
    times = list(arrivals(dice, 1.0, seconds))
    for begin in range(3, int(seconds), 10):
        times += [begin + dice.random() for _ in range(12)]
    for at in sorted(times):
        script.session(at)
        browse(script)


def hints(script, seconds):
    browsing(script, seconds, hint=True)


def encrypted(script, seconds):
    """Fewer: handshakes at both ends must not take the processors' time."""
    browsing(script, seconds, rate=1.5)


SMALL_BUFFERS = "SendBufferSize 16384\n"

SCENARIOS = {s.name: s for s in (
    Scenario("browsing", "visitors with up to six connections, who let the "
             "server close", browsing),
    Scenario("tls", "the same over TLS, fewer", encrypted, tls=True),
    Scenario("early", "half of the visitors close idle connections "
             "themselves, a quarter leave", early, log=("opened",)),
    Scenario("lazy", "two thirds leave the server's close unanswered until "
             "their next use", lazy, log=("opened",)),
    Scenario("slow", "slow readers and slow handlers", slow,
             conf=SMALL_BUFFERS),
    Scenario("bursts", "12 visitors within a second, each ten seconds",
             bursts),
    Scenario("hints", "half of the pages come with a connection that sends "
             "nothing", hints),
)}


def script_of(scenario, seed, seconds):
    script = Script(seed)
    scenario.make(script, seconds)
    return script.text()
