/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_hash: 64-bit hashes that stand in for addresses, user agents, processes.
 *
 * Words of the input are folded in by a 64 x 64 -> 128 bit multiplication
 * whose halves are xored, so that every bit of a hash depends on every byte:
 * any bits of it may index a table.  The seed is constant: the same log gives
 * the same hashes in every run.  Not for secrets.
 *
 * Pure; safe from any thread.
 */
#ifndef KA_HASH_H
#define KA_HASH_H

#include <stddef.h>
#include <stdint.h>

/** Hash of bytes[length], any bytes; never 0. */
uint64_t ka_hash_bytes(const void *bytes, size_t length);

/** Hash of a pair of numbers or hashes, order matters; never 0. */
uint64_t ka_hash_pair(uint64_t first, uint64_t second);

#endif
