/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * kaadvisor: finds the command, parses its options, runs it. */
#include <stdio.h>
#include <string.h>
#include <apr_general.h>
#include <apr_pools.h>

#include "commands/commands.h"
#include "commands/say.h"

static const ka_command *find_command(const char *name)
{
    const ka_command *command;

    for (command = ka_commands(); command->name; command++) {
        if (!strcmp(command->name, name)) {
            return command;
        }
    }
    return NULL;
}

static void print_overview(FILE *out)
{
    const ka_command *command;

    fputs("kaadvisor reads Apache httpd access logs and proposes KeepAlive "
          "and MPM\nsettings, each with the numbers behind it.\n\n"
          "Usage: kaadvisor [COMMAND] [OPTION...] [SOURCE...]\n\n"
          "Commands (`kaadvisor COMMAND --help` lists the options):\n",
          out);
    for (command = ka_commands(); command->name; command++) {
        fprintf(out, "  %-10s%s%s\n", command->name, command->summary,
                command == ka_commands() ? " (the default command)" : "");
    }
    fputs("\nExit status: 0 done, 1 failed, 2 wrong usage, 3 (with --check) a "
          "change is\nadvised.\n\nExamples:\n"
          "  kaadvisor --mpm prefork --timeout 5 --memory 4G --process-memory "
          "30M \\\n      /var/log/apache2/access.log*\n"
          "  kaadvisor --output conf -o httpd-mpm.conf access.log\n"
          "  kaadvisor formula --timeout 10 --rps 50 --keepalive-requests 1\n",
          out);
}

static void print_usage(FILE *out, const ka_command *command)
{
    fprintf(out, "Usage: kaadvisor %s %s\n\n%s\nOptions:\n", command->name,
            command->synopsis, command->detail);
    ka_options_usage(out, command);
}

static int run(int argc, const char *const *argv, apr_pool_t *pool)
{
    const ka_command *command = ka_commands();
    const ka_command *named = argc > 1 ? find_command(argv[1]) : NULL;
    const char *error = NULL;
    ka_options options;

    if (named) {
        command = named;
        argc--;
        argv++;
    }
    ka_options_init(&options);
    if (ka_options_parse(&options, &error, command, argc, argv, pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_USAGE;
    }
    if (options.version) {
        puts("kaadvisor " KA_VERSION);
        return KA_EXIT_DONE;
    }
    if (options.help) {
        if (named) {
            print_usage(stdout, command);
        }
        else {
            print_overview(stdout);
        }
        return KA_EXIT_DONE;
    }
    if (!command->takes_sources && options.source_n) {
        ka_say(pool, "`kaadvisor %s` takes no SOURCE, but got \"%s\"",
               command->name, options.sources[0]);
        return KA_EXIT_USAGE;
    }
    return command->run(&options, pool);
}

int main(int argc, const char *const *argv)
{
    apr_pool_t *pool;
    int status;

    if (apr_app_initialize(&argc, &argv, NULL) ||
        apr_pool_create(&pool, NULL)) {
        fputs("kaadvisor: cannot initialize APR\n", stderr);
        return KA_EXIT_FAILED;
    }
    status = run(argc, argv, pool);
    apr_pool_destroy(pool);
    apr_terminate();
    return status;
}
