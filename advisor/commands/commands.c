/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "commands.h"

static const ka_command commands[] = {
    {"advise", KA_COMMAND_ADVISE, ka_command_advise, true,
     "[OPTION...] SOURCE...",
     "KeepAlive and MPM settings from access logs",
     "Reads access logs, measures requests, connections and idle times, and\n"
     "proposes KeepAlive, KeepAliveTimeout, MaxKeepAliveRequests and the MPM's\n"
     "directives, each with the numbers behind it.  SOURCE is an access log,\n"
     "plain or compressed (gzip, bzip2, xz, zstd); `-` is standard input;\n"
     "rotated sets in any order; or the segment of mod_kastats, live or a\n"
     "copy of it (KAStatsFile).\n"},
    {"formula", KA_COMMAND_FORMULA, ka_command_formula, false,
     "--timeout S --rps R --keepalive-requests K [--process-memory M]",
     "the classic estimate alone",
     "processes = KeepAliveTimeout x requests per second / mean keep-alive\n"
     "requests; memory = processes x memory per process.\n"},
    {"show", KA_COMMAND_SHOW, ka_command_show, true, "[OPTION...] SOURCE...",
     "what a source holds, without advice",
     "Prints traffic, connections, gaps and service times of access logs; of a\n"
     "segment of mod_kastats, live or a copy of it, all that it has counted.\n"},
    {0}};

const ka_command *ka_commands(void)
{
    return commands;
}
