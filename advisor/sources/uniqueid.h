/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_uniqueid: the child process and the worker inside a UNIQUE_ID of
 * mod_unique_id, which many logs carry next to mod_security's fields.
 *
 * Layouts (httpd's sources and their history), all numbers big-endian, 6 bits
 * a character, the last character padded with zero bits:
 *
 *   characters  httpd                 bytes
 *   19          1.3                   stamp 4, address 4, pid 4, counter 2
 *   24          2.0 - 2.4.28          stamp 4, address 4, pid 4, counter 2,
 *                                     worker 4
 *   27          2.4.29 (2017) on      stamp 4, root 10, counter 2, worker 4
 *
 * stamp is the request's start in seconds; root is drawn at random by each
 * child; worker is conn_rec's id, the place in the scoreboard.  The alphabet
 * is A-Z a-z 0-9 and two more: `@-` up to 2.4.46, `-_` from 2.4.47 (2021) on.
 * So a `-` in 27 characters can mean 62 or 63; an `@` or `_` seen in the same
 * log settles it, and until then the release date of 2.4.47 does.
 *
 * Anything may stand in the log under that name, so the stamp is compared
 * with the request's own start: the first id must agree within 400 days (a
 * log may lack its zone, or have been shifted when it was made anonymous),
 * and all others must then be off by the same amount, within a day.  Two in a
 * row that are off alike, but unlike that, set a new amount.
 *
 * Concurrency: one thread per ka_uniqueid.
 */
#ifndef KA_UNIQUEID_H
#define KA_UNIQUEID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What has been learnt from the ids of one source; zero it to begin. */
typedef struct ka_uniqueid {
    int64_t offset_s; /* stamp - start, as the ids that are taken have it */
    int64_t other_s;  /* of the last id that was off by another amount */
    bool known;       /* offset_s is set */
    char last_digit;  /* the alphabet's 64th character, '-' or '_'; 0: no
                         id has shown it yet */
} ka_uniqueid;

/**
 * Takes an id apart.
 * @param child  hash of address and pid, or of the root; never 0
 * @param slot   hash of the child and its worker; never 0
 * @param id     id[length]
 * @param begin_us  the request's start, to check the stamp
 * @return whether it is an id of mod_unique_id; if not, the outputs are
 *         untouched
 */
bool ka_uniqueid_slot(ka_uniqueid *self, uint64_t *child, uint64_t *slot,
                      const char *id, size_t length, int64_t begin_us);

#endif
