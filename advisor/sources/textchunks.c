/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Decoded text is cut behind the last line end of each so many bytes; what
 * follows it is carried over to the next chunk:
 *
 *     buffer:  carry | ... \n ... \n ... \n ... |
 *              <---------- chunk -------> carry
 *
 * Of an overlong line only so much is kept that it is still overlong, so that
 * a line of gigabytes takes no more room than others.
 */
#include "textchunks.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* ---- buffers ----------------------------------------------------------- */

typedef struct spare {
    struct spare *next;
} spare;

struct ka_textbuffers {
    size_t chunk;
    pthread_mutex_t lock;
    apr_pool_t *pool; /* of the buffers alone */
    spare *first;
};

static apr_status_t buffers_cleanup(void *data)
{
    ka_textbuffers *self = data;

    pthread_mutex_destroy(&self->lock);
    return APR_SUCCESS;
}

ka_textbuffers *ka_textbuffers_make(size_t chunk, apr_pool_t *pool)
{
    ka_textbuffers *self = apr_pcalloc(pool, sizeof(*self));

    self->chunk = chunk;
    pthread_mutex_init(&self->lock, NULL);
    apr_pool_create(&self->pool, pool);
    apr_pool_cleanup_register(pool, self, buffers_cleanup,
                              apr_pool_cleanup_null);
    return self;
}

static char *take_buffer(ka_textbuffers *self)
{
    spare *taken;

    pthread_mutex_lock(&self->lock);
    if ((taken = self->first)) {
        self->first = taken->next;
    }
    else {
        taken = apr_palloc(self->pool, self->chunk + KA_TEXTCHUNK_TAIL);
    }
    pthread_mutex_unlock(&self->lock);
    return (char *)taken;
}

static void give_buffer(ka_textbuffers *self, char *buffer)
{
    spare *given = (spare *)(void *)buffer;

    pthread_mutex_lock(&self->lock);
    given->next = self->first;
    self->first = given;
    pthread_mutex_unlock(&self->lock);
}

/* ---- a file ------------------------------------------------------------ */

struct ka_textchunks {
    ka_linereader *reader;
    ka_textbuffers *buffers;
    apr_pool_t *pool;
    const ka_line *peeked; /* NULL once handed out */
    size_t peeked_n;
    size_t depth;

    /* A plain file. */
    int fd; /* -1: it is decoded */
    int64_t at, size;

    /* Of the decoding thread alone. */
    const char *block; /* block[block_n], decoded, not yet in a chunk */
    size_t block_n;
    char *carry; /* carry[carried], the start of the next chunk */
    size_t carried, carry_room;
    apr_status_t ended;

    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t filled, freed;
    ka_textchunk *ring; /* ring[depth]: decoded, from `first` on */
    size_t first, ready;
    size_t used; /* chunks decoded and not given back */
    bool finished, closing;
};

/* ---- decoding ---------------------------------------------------------- */

/* Bytes of the file, where the last block is used up; false at its end. */
static bool have_block(ka_textchunks *self)
{
    if (self->block_n == 0 && self->ended == APR_SUCCESS) {
        self->ended = ka_linereader_bytes(self->reader, &self->block,
                                          &self->block_n);
    }
    return self->block_n > 0;
}

/* Appends to buffer[n] up to `room`; returns the new length. */
static size_t append(ka_textchunks *self, char *buffer, size_t n, size_t room)
{
    while (n < room && have_block(self)) {
        const size_t piece =
            self->block_n < room - n ? self->block_n : room - n;

        memcpy(buffer + n, self->block, piece);
        self->block += piece;
        self->block_n -= piece;
        n += piece;
    }
    return n;
}

/* How much is kept of the first n bytes of a line that goes on. */
static size_t shortened(size_t n)
{
    return n < KA_TEXTCHUNK_TAIL ? n : KA_TEXTCHUNK_TAIL;
}

static void carry_over(ka_textchunks *self, const char *text, size_t n)
{
    n = shortened(n);
    if (n > self->carry_room) {
        self->carry_room = n * 2;
        self->carry = apr_palloc(self->pool, self->carry_room);
    }
    if (n) {
        memcpy(self->carry, text, n);
    }
    self->carried = n;
}

/* Fills buffer with the text of the next chunk; returns its length, which is
 * 0 at the end of the file only. */
static size_t decode_text(ka_textchunks *self, char *buffer)
{
    size_t n = self->carried, searched = 0;

    if (n) {
        memcpy(buffer, self->carry, n);
    }
    self->carried = 0;
    for (;;) {
        const size_t room = n + self->buffers->chunk;
        const char *lf;

        n = append(self, buffer, n, room);
        if (n < room) {
            return n;
        }
        lf = memrchr(buffer + searched, '\n', n - searched);
        if (lf) {
            const size_t length = (size_t)(lf + 1 - buffer);

            carry_over(self, lf + 1, n - length);
            return length;
        }
        n = searched = shortened(n);
    }
}

/* Whether there was one. */
static bool decode(ka_textchunks *self, ka_textchunk *chunk)
{
    int64_t size;

    *chunk = (ka_textchunk){.buffer = take_buffer(self->buffers), .fd = -1};
    chunk->text = chunk->buffer;
    chunk->length = decode_text(self, chunk->buffer);
    chunk->last = self->ended != APR_SUCCESS && self->carried == 0;
    ka_linereader_position(self->reader, &chunk->taken, &size);
    if (chunk->length == 0) {
        give_buffer(self->buffers, chunk->buffer);
    }
    return chunk->length > 0;
}

/* ---- the decoder's thread ---------------------------------------------- */

/* Waits until one more chunk may be decoded; false when closing. */
static bool wait_for_room(ka_textchunks *self)
{
    bool go_on;

    pthread_mutex_lock(&self->lock);
    while (self->used == self->depth && !self->closing) {
        pthread_cond_wait(&self->freed, &self->lock);
    }
    go_on = !self->closing;
    self->used += go_on;
    pthread_mutex_unlock(&self->lock);
    return go_on;
}

/* Whether to go on. */
static bool hand_over(ka_textchunks *self, bool have,
                      const ka_textchunk *chunk)
{
    pthread_mutex_lock(&self->lock);
    if (have) {
        self->ring[(self->first + self->ready++) % self->depth] = *chunk;
    }
    self->used -= !have;
    self->finished = !have || chunk->last;
    pthread_cond_signal(&self->filled);
    pthread_mutex_unlock(&self->lock);
    return have && !chunk->last;
}

static void *run_decoder(void *data)
{
    ka_textchunks *self = data;
    ka_textchunk chunk;
    bool have;

    /* The reader alone lets itself be cancelled, while it waits for input. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    do {
        if (!wait_for_room(self)) {
            break;
        }
        have = decode(self, &chunk);
    } while (hand_over(self, have, &chunk));
    return NULL;
}

static void start_decoder(ka_textchunks *self)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self->threaded = !pthread_create(&self->thread, NULL, run_decoder, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- chunks ------------------------------------------------------------ */

static apr_status_t chunks_cleanup(void *data)
{
    ka_textchunks *self = data;
    int64_t taken;

    ka_textchunks_close(self, &taken);
    pthread_cond_destroy(&self->freed);
    pthread_cond_destroy(&self->filled);
    pthread_mutex_destroy(&self->lock);
    return APR_SUCCESS;
}

ka_textchunks *ka_textchunks_open(ka_linereader *reader,
                                  const ka_line *peeked, size_t peeked_n,
                                  ka_textbuffers *buffers, size_t depth,
                                  apr_pool_t *pool)
{
    ka_textchunks *self = apr_pcalloc(pool, sizeof(*self));
    int64_t taken;

    self->reader = reader;
    self->buffers = buffers;
    self->peeked = peeked_n ? peeked : NULL;
    self->peeked_n = peeked_n;
    self->depth = depth;
    ka_linereader_position(reader, &taken, &self->size);
    self->fd = ka_linereader_plain_fd(reader);
    self->ring = apr_pcalloc(pool, (depth + 1) * sizeof(*self->ring));
    apr_pool_create(&self->pool, pool);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->filled, NULL);
    pthread_cond_init(&self->freed, NULL);
    apr_pool_pre_cleanup_register(pool, self, chunks_cleanup);
    if (self->fd < 0 && depth) {
        start_decoder(self);
    }
    return self;
}

size_t ka_textchunks_limit(const ka_textchunks *self)
{
    /* While these are parsed, as many can be decoded. */
    return self->fd < 0 && self->depth ? self->depth / 2 : SIZE_MAX;
}

static apr_status_t next_range(ka_textchunks *self, ka_textchunk *chunk)
{
    const int64_t step = (int64_t)self->buffers->chunk;
    const int64_t left = self->size - self->at;

    if (left <= 0) {
        return APR_EOF;
    }
    *chunk = (ka_textchunk){.fd = self->fd,
                            .from = self->at,
                            .size = self->size,
                            .at_line = self->at == 0};
    self->at += left > step ? step : left;
    chunk->to = chunk->taken = self->at;
    chunk->last = self->at == self->size;
    return APR_SUCCESS;
}

static apr_status_t next_of_thread(ka_textchunks *self, ka_textchunk *chunk)
{
    bool have;

    pthread_mutex_lock(&self->lock);
    while (self->ready == 0 && !self->finished) {
        pthread_cond_wait(&self->filled, &self->lock);
    }
    have = self->ready > 0;
    if (have) {
        *chunk = self->ring[self->first];
        self->first = (self->first + 1) % self->depth;
        self->ready--;
    }
    pthread_mutex_unlock(&self->lock);
    return have ? APR_SUCCESS : self->ended;
}

apr_status_t ka_textchunks_next(ka_textchunks *self, ka_textchunk *chunk)
{
    if (self->peeked) {
        *chunk = (ka_textchunk){
            .lines = self->peeked, .line_n = self->peeked_n, .fd = -1};
        self->peeked = NULL;
        return APR_SUCCESS;
    }
    if (self->fd >= 0) {
        return next_range(self, chunk);
    }
    if (self->threaded) {
        return next_of_thread(self, chunk);
    }
    return decode(self, chunk) ? APR_SUCCESS : self->ended;
}

void ka_textchunks_done(ka_textchunks *self, ka_textchunk *chunk)
{
    if (!chunk->buffer) {
        return;
    }
    give_buffer(self->buffers, chunk->buffer);
    chunk->buffer = NULL;
    if (self->threaded) {
        pthread_mutex_lock(&self->lock);
        self->used--;
        pthread_cond_signal(&self->freed);
        pthread_mutex_unlock(&self->lock);
    }
}

apr_status_t ka_textchunks_close(ka_textchunks *self, int64_t *taken)
{
    int64_t size;

    if (self->threaded) {
        pthread_mutex_lock(&self->lock);
        self->closing = true;
        pthread_cond_signal(&self->freed);
        if (!self->finished) {
            pthread_cancel(self->thread);
        }
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
        self->threaded = false;
    }
    ka_linereader_position(self->reader, taken, &size);
    if (self->fd < 0) {
        return self->ended;
    }
    *taken = self->at;
    return self->at == self->size ? APR_EOF : APR_SUCCESS;
}
