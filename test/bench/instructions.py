#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Instructions per request, with and without mod_kastats and mod_kapolicy.

prefork -X under callgrind, a static file, keep-alive.  Each configuration is
measured with two numbers of requests: the difference leaves start and stop
out.  The budget is 500 instructions for mod_kastats, and 300 for asking five
rules of mod_kapolicy; ExtendedStatus stands beside them.

    instructions.py [--module FILE] [--json]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import kastats_env  # noqa: E402

BUDGET = {"kastats": 500, "five more rules": 300}
FEW, MANY = 200, 1200
WITHOUT = "plain"
POLICY = f'LoadModule kapolicy_module "{kastats_env.BUILD}/mod_kapolicy.so"\n'
RULES = ("KAPolicy close served=dynamic\n"
         "KAPolicy timeout=600 served=static\n")
FIVE = ("KAPolicy close served=proxy\nKAPolicy close status=5xx\n"
        "KAPolicy close type=text/css\n"
        "KAPolicy close handler=server-status\n"
        "KAPolicy timeout=600 status=200\n")
CASES = {
    WITHOUT: "",
    "kastats": 'LoadModule kastats_module "{module}"\n',
    "kastats, off": 'LoadModule kastats_module "{module}"\nKAStats Off\n',
    "kapolicy, none": POLICY,
    "kapolicy, rules": POLICY + RULES,
    "kapolicy, seven": POLICY + RULES + FIVE,
    "kapolicy, size": POLICY + RULES + "KAPolicy close size=1G-\n",
    "kapolicy, load": POLICY + "KAPolicyAdaptive 500 600\n",
    "ExtendedStatus": f'LoadModule status_module '
                      f'"{kastats_env.MODULES}/mod_status.so"\n'
                      "ExtendedStatus On\n",
    "access log": 'CustomLog "{root}/access.log" "%h %l %u %t \\"%r\\" %>s %b"'
                  "\n",
}

CONF = """
ServerRoot "{root}"
DefaultRuntimeDir "{root}"
PidFile "{root}/httpd.pid"
ErrorLog "{root}/error.log"
ServerName localhost
LoadModule mpm_prefork_module "{modules}/mod_mpm_prefork.so"
LoadModule authz_core_module "{modules}/mod_authz_core.so"
Listen 127.0.0.1:{port}
MaxKeepAliveRequests 0
KeepAliveTimeout 600
DocumentRoot "{root}"
ExtendedStatus Off
{case}
"""


def instructions(case, requests, module):
    with tempfile.TemporaryDirectory(prefix="ka-bench-") as root:
        path = pathlib.Path(root)
        port = kastats_env.free_ports(1)[0]
        (path / "file.html").write_text("hello\n")
        (path / "httpd.conf").write_text(CONF.format(
            root=root, port=port, modules=kastats_env.MODULES,
            case=CASES[case].format(module=module, root=root)))
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind",
             f"--callgrind-out-file={root}/out", kastats_env.APACHE, "-X",
             "-f", f"{root}/httpd.conf"], start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        client = kastats_env.wait_for(lambda: connect(process, port), "httpd")
        for _ in range(requests):
            assert client.get("/file.html")[0] == 200
        client.close()
        stop(process)
        text = (path / "out").read_text()
    return sum(int(n) for n in re.findall(r"^(?:totals|summary): (\d+)", text,
                                          re.M)[:1])


def stop(process):
    """A signal just before httpd waits in accept() is only seen by the next:
    valgrind makes that gap wide."""
    for _ in range(12):
        process.terminate()
        try:
            process.wait(5)
            return
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    raise AssertionError("httpd does not end")


def connect(process, port):
    assert process.poll() is None, "httpd ended"
    try:
        return kastats_env.Client(port)
    except OSError:
        return None


def per_request(case, module):
    return (instructions(case, MANY, module)
            - instructions(case, FEW, module)) / (MANY - FEW)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--module", default=kastats_env.MODULE)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cost = {case: per_request(case, args.module) for case in CASES}
    added = {case: n - cost[WITHOUT] for case, n in cost.items()}
    spent = {"kastats": added["kastats"],
             "five more rules":
             cost["kapolicy, seven"] - cost["kapolicy, rules"]}
    if args.json:
        json.dump({"instructions_per_request": cost, "added": added,
                   "spent": spent, "budget": BUDGET}, sys.stdout, indent=1)
        print()
    else:
        for case, n in cost.items():
            print(f"{case:16} {n:9.0f} instructions a request "
                  f"{added[case]:+8.0f}")
        for what, n in spent.items():
            print(f"{what:16} {n:9.0f} of {BUDGET[what]}")
    return int(any(n > BUDGET[what] for what, n in spent.items()))


if __name__ == "__main__":
    sys.exit(main())
