/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The % items of httpd 2.4: mod_log_config, mod_logio, mod_ssl and our own
 * mod_kastats. */
#include "logformat_priv.h"

#include <string.h>
#include <strings.h>

/* Zero is not a class of its own: what is not named here is KA_LC_OTHER. */
#define OTHERS(from, to) [from... to] = KA_LC_OTHER

const unsigned char ka_lf_classes[256] = {
    OTHERS(0, ' ' - 1),        [' '] = KA_LC_BLANK,
    OTHERS('!', '*'),          ['+'] = KA_LC_PLUS,
    OTHERS(',', ','),          ['-'] = KA_LC_DASH,
    OTHERS('.', '/'),          ['0' ... '9'] = KA_LC_DIGIT,
    OTHERS(':', '@'),          ['A' ... 'F'] = KA_LC_HEX,
    ['G' ... 'Z'] = KA_LC_LETTER, ['['] = KA_LC_BRACKET,
    OTHERS('\\', '`'),         ['a' ... 'f'] = KA_LC_HEX,
    ['g' ... 'z'] = KA_LC_LETTER, OTHERS('{', 255)
};

#define ADDRESS "an address"
#define BYTES "a number of bytes"
#define PORT "a port number"
#define TEXT "text"

/* The first row with the letter and an argument that fits is the item. */
static const ka_lf_item items[] = {
    /* The other end of the connection: its address beats its name. */
    { "h", "c", KA_LK_WORD, KA_LF_PEER, 0, 0, "a host name or address" },
    { "a", "c", KA_LK_WORD, KA_LF_PEER, 1, 0, ADDRESS },
    { "h", NULL, KA_LK_WORD, KA_LF_HOST, 0, 0, "a host name or address" },
    { "a", NULL, KA_LK_WORD, KA_LF_CLIENT, 0, 0, ADDRESS },
    { "A", NULL, KA_LK_WORD, KA_LF_OTHER, 0, 0, ADDRESS },
    { "b", NULL, KA_LK_NUMBER, KA_LF_BODY_BYTES, 0, 0, BYTES },
    { "B", NULL, KA_LK_NUMBER, KA_LF_BODY_BYTES, 1, 0, BYTES },
    { "I", NULL, KA_LK_NUMBER, KA_LF_BYTES_IN, 0, 0, BYTES },
    { "O", NULL, KA_LK_NUMBER, KA_LF_BYTES_OUT, 0, 0, BYTES },
    { "S", NULL, KA_LK_NUMBER, KA_LF_OTHER, 0, 0, BYTES },
    { "^FB", NULL, KA_LK_NUMBER, KA_LF_FIRST_BYTE, 0, 0,
      "a number of microseconds" },
    { "D", NULL, KA_LK_NUMBER, KA_LF_SERVICE, 0, 1,
      "a number of microseconds" },
    { "T", "", KA_LK_NUMBER, KA_LF_SERVICE, 0, 1000000,
      "a number of seconds" },
    { "T", "s", KA_LK_NUMBER, KA_LF_SERVICE, 0, 1000000,
      "a number of seconds" },
    { "T", "ms", KA_LK_NUMBER, KA_LF_SERVICE, 0, 1000,
      "a number of milliseconds" },
    { "T", "us", KA_LK_NUMBER, KA_LF_SERVICE, 0, 1,
      "a number of microseconds" },
    { "r", NULL, KA_LK_TEXT, KA_LF_REQUEST, 0, 0, "a request line" },
    { "m", NULL, KA_LK_TEXT, KA_LF_METHOD, 0, 0, "a method" },
    { "U", NULL, KA_LK_TEXT, KA_LF_URI, 0, 0, "a path" },
    { "q", NULL, KA_LK_QUERY, KA_LF_QUERY, 0, 0, "a query string" },
    { "H", NULL, KA_LK_TEXT, KA_LF_PROTOCOL, 0, 0, "a protocol" },
    { "s", NULL, KA_LK_STATUS, KA_LF_STATUS, 0, 0,
      "a status of three digits" },
    { "k", NULL, KA_LK_NUMBER, KA_LF_KEEPALIVES, 0, 0,
      "a number of requests" },
    { "X", NULL, KA_LK_SIGN, KA_LF_CONN_STATUS, 0, 0, "one of + - X" },
    { "p", "", KA_LK_NUMBER, KA_LF_LOCAL_PORT, 0, 0, PORT },
    { "p", "canonical", KA_LK_NUMBER, KA_LF_LOCAL_PORT, 0, 0, PORT },
    { "p", "local", KA_LK_NUMBER, KA_LF_LOCAL_PORT, 1, 0, PORT },
    { "p", "remote", KA_LK_NUMBER, KA_LF_REMOTE_PORT, 0, 0, PORT },
    { "P", "", KA_LK_NUMBER, KA_LF_PID, 0, 0, "a process id" },
    { "P", "pid", KA_LK_NUMBER, KA_LF_PID, 0, 0, "a process id" },
    { "P", "hextid", KA_LK_HEX, KA_LF_TID, 0, 0, "a thread id in hex" },
    { "P", "tid", KA_LK_NUMBER, KA_LF_TID, 1, 0, "a thread id" },
    { "V", NULL, KA_LK_WORD, KA_LF_VHOST, 0, 0, "a server name" },
    { "v", NULL, KA_LK_WORD, KA_LF_VHOST, 1, 0, "a server name" },
    { "R", NULL, KA_LK_TEXT, KA_LF_HANDLER, 0, 0, "a handler" },
    { "i", "User-Agent", KA_LK_TEXT, KA_LF_USER_AGENT, 0, 0, TEXT },
    { "e", "UNIQUE_ID", KA_LK_TEXT, KA_LF_UNIQUE_ID, 0, 0, TEXT },
    { "e", "SSL_PROTOCOL", KA_LK_TEXT, KA_LF_TLS_PROTOCOL, 0, 0, TEXT },
    { "x", "SSL_PROTOCOL", KA_LK_TEXT, KA_LF_TLS_PROTOCOL, 0, 0, TEXT },
    { "c", "version", KA_LK_TEXT, KA_LF_TLS_PROTOCOL, 0, 0, TEXT },
    { "l", NULL, KA_LK_WORD, KA_LF_OTHER, 0, 0, "a name" },
    { "u", NULL, KA_LK_WORD, KA_LF_OTHER, 0, 0, "a user name" },
    { "f", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, "a file name" },
    { "L", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, "a log id" },
    { "i", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "o", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "^ti", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "^to", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "^KA", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "n", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "e", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "C", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "c", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
    { "x", NULL, KA_LK_TEXT, KA_LF_OTHER, 0, 0, TEXT },
};

/* The arguments of %t; what is none of them is a strftime format. */
static const struct {
    const char *argument;
    ka_lf_time time;
    ka_lf_item item;
} times[] = {
    { "", KA_LT_CLF,
      { "t", "", KA_LK_CLF, KA_LF_BEGIN, 0, 0,
        "a time like [09/Jul/1995:00:00:07 -0400]" } },
    { "sec", KA_LT_SEC,
      { "t", "", KA_LK_NUMBER, KA_LF_BEGIN, 0, 0, "seconds since 1970" } },
    { "%s", KA_LT_SEC,
      { "t", "", KA_LK_NUMBER, KA_LF_BEGIN, 0, 0, "seconds since 1970" } },
    { "msec", KA_LT_MSEC,
      { "t", "", KA_LK_NUMBER, KA_LF_BEGIN, 0, 0,
        "milliseconds since 1970" } },
    { "usec", KA_LT_USEC,
      { "t", "", KA_LK_NUMBER, KA_LF_BEGIN, 0, 0,
        "microseconds since 1970" } },
    { "msec_frac", KA_LT_MSEC_FRAC,
      { "t", "", KA_LK_FRACTION, KA_LF_BEGIN, 0, 0,
        "milliseconds of three digits" } },
    { "usec_frac", KA_LT_USEC_FRAC,
      { "t", "", KA_LK_FRACTION, KA_LF_BEGIN, 0, 0,
        "microseconds of six digits" } },
    { NULL, KA_LT_PARTS,
      { "t", "", KA_LK_STRFTIME, KA_LF_BEGIN, 0, 0,
        "an existing time of that form" } },
};

/* httpd tells `c` of %{c}a by its case, all other arguments without. */
static bool argument_fits(const char *wanted, const char *argument)
{
    if (wanted == NULL) {
        return true;
    }
    return strcmp(wanted, "c") == 0 ? strcmp(wanted, argument) == 0
                                    : strcasecmp(wanted, argument) == 0;
}

const ka_lf_item *ka_lf_item_find(bool *constant, const char *letter,
                                  size_t length, const char *argument)
{
    *constant = false;
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        if (strlen(items[i].letter) != length
            || memcmp(items[i].letter, letter, length) != 0) {
            continue;
        }
        if (argument_fits(items[i].argument, argument)) {
            *constant = false;
            return &items[i];
        }
        *constant = true;
    }
    return NULL;
}

/* As httpd does it: `begin` and `begin:` alone are %t, and a word that only
 * starts like one of these is a strftime format. */
static bool take_prefix(const char **argument, const char *prefix)
{
    size_t n = strlen(prefix);
    const char *rest = *argument + n;

    if (strncmp(*argument, prefix, n) != 0 || (*rest && *rest != ':')) {
        return false;
    }
    *argument = rest + (*rest == ':');
    return true;
}

const ka_lf_item *ka_lf_item_time(ka_lf_time *time, bool *end,
                                  const char **argument)
{
    size_t i = 0;

    *end = !take_prefix(argument, "begin") && take_prefix(argument, "end");
    while (times[i].argument && strcmp(times[i].argument, *argument) != 0) {
        i++;
    }
    *time = times[i].time;
    return &times[i].item;
}
