/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "commands.h"

static const ka_command commands[] = {
    {"advise", KA_COMMAND_ADVISE, ka_command_advise, true,
     "[OPTION...] [SOURCE...]",
     "KeepAlive and MPM settings from access logs",
     "Reads access logs, measures requests, connections and idle times, and\n"
     "proposes KeepAlive, KeepAliveTimeout, MaxKeepAliveRequests and the MPM's\n"
     "directives, each with the numbers behind it.  SOURCE is an access log,\n"
     "plain or compressed (gzip, bzip2, xz, zstd); `-` is standard input;\n"
     "rotated sets in any order; or the segment of mod_kastats, live or a\n"
     "copy of it (KAStatsFile); or profiles, of one server or of many, which\n"
     "`kaadvisor profile` writes; or the URL of a Prometheus (http://HOST:9090)\n"
     "that scrapes mod_kastats: each server that it knows, and all together.\n\n"
     "Without SOURCE: the httpd that runs here, its configuration, memory, and\n"
     "its live segment or access logs.  Root sees all of it.\n\n"
     "--output conf -o FILE writes the settings: httpd -t is asked first, what\n"
     "FILE held is kept as FILE.bak, and how to apply it and to go back is told.\n"
     "--diff shows them as changes of the present files, for patch(1).\n"},
    {"formula", KA_COMMAND_FORMULA, ka_command_formula, false,
     "--timeout S --rps R --keepalive-requests K [--process-memory M]",
     "the classic estimate alone",
     "processes = KeepAliveTimeout x requests per second / mean keep-alive\n"
     "requests; memory = processes x memory per process.\n"},
    {"profile", KA_COMMAND_PROFILE, ka_command_profile, true,
     "[OPTION...] SOURCE... [-o FILE]",
     "what logs and profiles hold, as one small file",
     "Counts access logs into a profile: one line of JSON for each server, at\n"
     "most 1 MB, from which `kaadvisor advise` gives the same advice.  Parts add\n"
     "up: a SOURCE may be a profile too, and those of one server become one, in\n"
     "any order.  So the logs of a fleet can be read where they lie, by any\n"
     "engine that runs commands:\n\n"
     "    parallel 'ssh {} kaadvisor profile --host {} LOG' ::: web1 web2 |\n"
     "        kaadvisor advise -\n\n"
     "Logs are taken to be of the server --host names; logs of one server and\n"
     "time (one a virtual host) must be given together.  A profile holds no\n"
     "address of a client, but hashes of some: it is about as private as a log.\n"},
    {"show", KA_COMMAND_SHOW, ka_command_show, true, "[OPTION...] SOURCE...",
     "what a source holds, without advice",
     "Prints traffic, connections, gaps and service times of access logs; of a\n"
     "segment of mod_kastats, live or a copy of it, all that it has counted.\n"},
    {"simulate", KA_COMMAND_SIMULATE, ka_command_simulate, true,
     "[--config FILE] [--against FILE] [OPTION...] [SOURCE...]",
     "what a configuration would do under this traffic",
     "Plays the source's own clients against the MPM itself: accept queue,\n"
     "children started and ended once a second, event's limits and evictions.\n"
     "Says who would wait for a worker and how long, what would be refused,\n"
     "evicted or dropped, and workers and memory over time; with --against, of\n"
     "two configurations.  SOURCE is an access log, of up to a million requests\n"
     "played one by one; a longer one, a profile, a segment of mod_kastats or a\n"
     "Prometheus: traffic is then drawn from its distributions.\n\n"
     "Without --config: the configuration of the httpd that runs here; without\n"
     "SOURCE: its segment or its access logs.  So `kaadvisor simulate --against\n"
     "new.conf` compares what is in force with a file.\n"},
    {"doctor", KA_COMMAND_DOCTOR, ka_command_doctor, false, "[OPTION...]",
     "this host's httpd, its memory and limits, without traffic",
     "Looks at each running httpd: the memory its children share and take each,\n"
     "how many of them this host or control group holds beside what else runs,\n"
     "and the limits around it: open files, processes, listen queues, firewall,\n"
     "ports, processors.  Needs no log and changes nothing.  As root it sees\n"
     "all; else it says what it could not see.\n"},
    {0}};

const ka_command *ka_commands(void)
{
    return commands;
}
