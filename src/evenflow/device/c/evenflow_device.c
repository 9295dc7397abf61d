/* See evenflow_device.h. Names of functions are those of evenflow_device.py. */
#include "evenflow_device.h"

#include <string.h>

enum {
    CONNECT = 1, ACCEPTED, REFUSED, CREATE, SET_TOPIC, SET_TYPE, DONE, DATA, ITEM, SAFE,
    SETTLE, SETTLED, HEARTBEAT, ALIVE, MOVED, ADOPT, SERVED, GOODBYE, BYE
};
enum { EARLIER = 3, ELSEWHERE = 4, REPLAYED = 5, NO_SUCH_ENTITY = 1 };
enum { HEADER = 24, SEAL = 24, TAG = 16, TRY_MS = 250, PROBE_MS = 400, RESEND_MS = 300, LINGER_MS = 50 };

static int at_door_kind(int kind) {
    return kind == CONNECT || kind == ACCEPTED || kind == REFUSED || kind >= ADOPT;
}

/* Times are counted modulo 2^32: one is reached when it is not more than half of that ahead. */
static int reached(uint32_t now, uint32_t due) { return now - due < 0x80000000u; }

/* -- SHA-256 and HMAC (FIPS 180-4, RFC 2104) ----------------------------------------------------- */

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

typedef struct {
    uint32_t state[8];
    uint64_t size;
    uint8_t block[64];
} sha256;

static uint32_t turn(uint32_t word, int by) { return word >> by | word << (32 - by); }

static void sha256_block(sha256 *hash) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) {
        const uint8_t *b = hash->block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, hash->state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + ROUND[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) hash->state[i] += v[i];
}

static void sha256_begin(sha256 *hash) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->size = 0;
}

static void sha256_add(sha256 *hash, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        hash->block[hash->size++ % 64] = data[i];
        if (hash->size % 64 == 0) sha256_block(hash);
    }
}

static void sha256_end(sha256 *hash, uint8_t digest[32]) {
    uint64_t bits = hash->size * 8;
    uint8_t length[8];
    const uint8_t one = 0x80, zero = 0;
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(hash, &one, 1);
    while (hash->size % 64 != 56) sha256_add(hash, &zero, 1);
    sha256_add(hash, length, 8);
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void ef_sha256(const uint8_t *data, size_t size, uint8_t digest[32]) {
    sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, data, size);
    sha256_end(&hash, digest);
}

static void hmac(const uint8_t key[32], const uint8_t *data, size_t size, uint8_t digest[32]) {
    sha256 hash;
    uint8_t pad[64];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 64; i++) pad[i] = (i < 32 ? key[i] : 0) ^ (round ? 0x5c : 0x36);
        sha256_begin(&hash);
        sha256_add(&hash, pad, sizeof pad);
        if (round) sha256_add(&hash, digest, 32);
        else sha256_add(&hash, data, size);
        sha256_end(&hash, digest);
    }
}

/* -- writing ------------------------------------------------------------------------------------- */

void ef_put(ef_device *d, const void *bytes, size_t size) {
    size_t room = sizeof d->out - (d->key ? SEAL : 0);
    if (d->out_error || size > room || d->out_size > room - size) {
        d->out_error = 1;
        return;
    }
    memcpy(d->out + d->out_size, bytes, size);
    d->out_size += size;
}

static void put_number(ef_device *d, uint64_t value, int size) {
    uint8_t bytes[8];
    for (int i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    ef_put(d, bytes, (size_t)size);
}

void ef_put_u8(ef_device *d, uint8_t value) { put_number(d, value, 1); }
void ef_put_u16(ef_device *d, uint16_t value) { put_number(d, value, 2); }
void ef_put_u32(ef_device *d, uint32_t value) { put_number(d, value, 4); }
void ef_put_u64(ef_device *d, uint64_t value) { put_number(d, value, 8); }

void ef_put_f32(ef_device *d, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ef_put_u32(d, bits);
}

void ef_put_f64(ef_device *d, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ef_put_u64(d, bits);
}

static void put_text(ef_device *d, const char *text, size_t size) {
    if (size > 255) d->out_error = 1;
    ef_put_u8(d, (uint8_t)size);
    ef_put(d, text, size);
}

void ef_put_text(ef_device *d, const char *text) { put_text(d, text, strlen(text)); }

static void begin(ef_device *d, int kind, uint32_t session, uint16_t number) {
    d->out_size = 0;
    d->out_error = 0;
    ef_put(d, "EF\1", 3);
    ef_put_u8(d, (uint8_t)kind);
    ef_put_u16(d, d->key ? 0x100 : 0);
    ef_put(d, d->guid, sizeof d->guid);
    ef_put_u32(d, session);
    ef_put_u16(d, number);
}

static int finish(ef_device *d, const ef_address *to) {
    if (d->out_error) return 0;
    if (d->key) {
        uint8_t digest[32];
        uint64_t counter = ++d->counter;
        for (int i = 0; i < 8; i++) d->out[d->out_size++] = (uint8_t)(counter >> (56 - 8 * i));
        hmac(at_door_kind(d->out[3]) ? d->key : d->session_key, d->out, d->out_size, digest);
        memcpy(d->out + d->out_size, digest, TAG);
        d->out_size += TAG;
    }
    d->send(d->context, d->out, d->out_size, to);
    return 1;
}

/* -- reading ------------------------------------------------------------------------------------- */

static uint64_t get_number(ef_reader *r, size_t size) {
    uint64_t value = 0;
    if (r->error || r->size - r->at < size) {
        r->error = 1;
        return 0;
    }
    while (size--) value = value << 8 | r->data[r->at++];
    return value;
}

uint8_t ef_get_u8(ef_reader *r) { return (uint8_t)get_number(r, 1); }
uint16_t ef_get_u16(ef_reader *r) { return (uint16_t)get_number(r, 2); }
uint32_t ef_get_u32(ef_reader *r) { return (uint32_t)get_number(r, 4); }
uint64_t ef_get_u64(ef_reader *r) { return get_number(r, 8); }

float ef_get_f32(ef_reader *r) {
    uint32_t bits = ef_get_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double ef_get_f64(ef_reader *r) {
    uint64_t bits = ef_get_u64(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

size_t ef_get_text(ef_reader *r, char *text, size_t room) {
    size_t size = ef_get_u8(r), copied;
    if (room) text[0] = 0;
    if (r->error || r->size - r->at < size) {
        r->error = 1;
        return 0;
    }
    copied = room == 0 ? 0 : size < room ? size : room - 1;
    memcpy(text, r->data + r->at, copied);
    if (room) text[copied] = 0;
    r->at += size;
    return size;
}

/* The name of a bridge: one that is too long, or has a zero in it, is an error. */
static void get_name(ef_reader *r, char name[EF_NAME_BYTES + 1]) {
    size_t size = ef_get_text(r, name, EF_NAME_BYTES + 1);
    if (size > EF_NAME_BYTES || strlen(name) != size) r->error = 1;
}

/* -- saying -------------------------------------------------------------------------------------- */

static void beat(ef_device *d, uint32_t now) {
    d->due = now + d->heartbeat_ms;
    begin(d, HEARTBEAT, d->session, 0);
    ef_put_u32(d, d->sent);
    ef_put_u32(d, d->received);
    ef_put_u32(d, d->unsure);
    ef_put_u64(d, d->salt);
    ef_put_text(d, d->offer.stands ? d->offer.bridge : "");
    finish(d, &d->address);
}

static void say_connect(ef_device *d, uint32_t now, const ef_address *to) {
    if (d->tries % 8 == 0 && !to) {
        d->session++;
        d->echo_from = d->counter + 1;
    }
    begin(d, CONNECT, d->session, 0);
    ef_put_u64(d, d->run);
    ef_put_u8(d, (uint8_t)(d->tries < 255 ? d->tries : 255));
    ef_put_u16(d, (uint16_t)d->heartbeat_ms);
    ef_put_u8(d, d->direct);
    ef_put_text(d, d->name);
    ef_put_text(d, d->bridge);
    finish(d, to);
    if (!to) {
        uint32_t wait;
        d->tries++;
        wait = d->tries <= 8 ? TRY_MS : d->tries > 22 ? 4000 : TRY_MS * (d->tries - 6);
        d->due = now + wait + d->guid[d->tries % 12] % 64;
    }
}

static void search(ef_device *d, uint32_t now) {
    d->serving = 0;
    d->offer.stands = 0;
    d->tries = 0;
    d->due = now;
}

static void go_on(ef_device *d, uint32_t now, const ef_offer *from) {
    ef_offer next = *from; /* it may be d->offer itself */
    if (d->has_address && d->bridge[0] && strcmp(d->bridge, next.bridge) != 0) {
        d->farewell_address = d->address;
        d->farewell_session = d->served;
        memcpy(d->farewell_to, next.bridge, sizeof d->farewell_to);
        d->farewell_left = 5;
        d->farewell_due = now + LINGER_MS; /* what is on its way arrives first */
        d->unsure = d->sent - d->confirmed;
    }
    memcpy(d->bridge, next.bridge, sizeof d->bridge);
    d->address = next.address;
    d->has_address = 1;
    d->session = d->served = next.session;
    d->salt = next.salt;
    if (d->key) {
        begin(d, 0, 0, 0); /* only to have a buffer */
        d->out_size = 0;
        ef_put(d, "EF session", 10);
        ef_put(d, d->guid, sizeof d->guid);
        ef_put_u64(d, d->run);
        ef_put_u32(d, d->session);
        ef_put_u64(d, d->salt);
        hmac(d->key, d->out, d->out_size, d->session_key);
    }
    d->serving = 1;
    d->offer.stands = 0;
    d->bridge_counter = 0;
    d->heard = now;
    d->tries = 0;
    d->sent = d->received = d->confirmed = 0;
    if (d->ready > next.entities) d->ready = next.entities;
    d->step = 0;
    d->request_due = now;
    for (int i = 0; i < d->entity_count; i++) {
        d->entities[i].asking = d->entities[i].sent > d->entities[i].safe;
        d->entities[i].due = now;
        d->entities[i].slow = 0;
    }
    beat(d, now);
}

static void say_run(ef_device *d, int kind, uint32_t session, const char *bridge, ef_address to) {
    begin(d, kind, session, 0);
    ef_put_u64(d, d->run);
    ef_put_text(d, bridge);
    finish(d, &to);
}

/* -- hearing ------------------------------------------------------------------------------------- */

static int is_mine(const ef_device *d, uint64_t echo) {
    return d->key ? d->echo_from <= echo && echo <= d->counter : echo == d->run;
}

static int parse_address(const char *text, ef_address *address) {
    uint32_t part = 0, host = 0;
    int dots = 0;
    for (; *text && *text != ':'; text++) {
        if (*text == '.') {
            host = host << 8 | part;
            part = 0;
            if (++dots > 3) return 0;
        } else if (*text < '0' || *text > '9' || (part = part * 10 + (uint32_t)(*text - '0')) > 255) {
            return 0;
        }
    }
    if (dots != 3 || *text != ':') return 0;
    address->host = host << 8 | part;
    for (part = 0, text++; *text; text++) {
        if (*text < '0' || *text > '9' || (part = part * 10 + (uint32_t)(*text - '0')) > 65535) return 0;
    }
    address->port = (uint16_t)part;
    return part != 0;
}

static void refused(ef_device *d, ef_reader *r, uint32_t now) {
    char text[73];
    ef_address address;
    int reason = ef_get_u8(r);
    uint64_t echo = ef_get_u64(r), floor = ef_get_u64(r);
    uint32_t wait = ef_get_u16(r);
    ef_get_text(r, text, sizeof text);
    if (r->error || !is_mine(d, echo)) return;
    if (reason == REPLAYED) {
        if (d->counter < floor) d->counter = floor;
        d->due = now;
    } else if (reason == EARLIER && floor >= d->run) {
        for (int i = 0; i < d->entity_count; i++)
            if (d->entities[i].sent) return; /* another run has other items */
        d->run = floor + 1;
        if (d->counter < d->run) d->counter = d->run;
        d->due = now;
    } else if (reason == ELSEWHERE && text[0]) {
        if (parse_address(text, &address)) say_connect(d, now, &address);
    } else {
        d->due = now + (wait > 1000 ? wait : 1000);
    }
}

static void adopted(ef_device *d, const ef_offer *offer, uint32_t now) {
    int same = strcmp(offer->bridge, d->bridge) == 0;
    if (!d->serving) {
        if (offer->session >= d->session) go_on(d, now, offer);
        else say_connect(d, now, &offer->address);
    } else if (same && offer->session == d->session) {
        beat(d, now);
    } else if (offer->session <= d->session || same) {
        say_run(d, SERVED, d->session, d->bridge, offer->address);
    } else if (!d->offer.stands || strcmp(d->offer.bridge, offer->bridge) == 0) {
        if (!d->offer.stands) d->probe = now;
        d->offer = *offer;
        d->offer.stands = 1;
        beat(d, now);
    }
}

static void at_door(ef_device *d, int kind, uint32_t session, ef_reader *r, ef_address source,
                    uint32_t now) {
    ef_offer offer;
    uint64_t first;
    if (kind == BYE) {
        if (source.host == d->farewell_address.host && source.port == d->farewell_address.port)
            d->farewell_left = 0;
    } else if (kind == REFUSED) {
        if (!d->serving && session == d->session) refused(d, r, now);
    } else if (kind == ACCEPTED || kind == ADOPT) {
        first = ef_get_u64(r); /* the echo, or the run */
        offer.salt = ef_get_u64(r);
        offer.entities = ef_get_u8(r);
        get_name(r, offer.bridge);
        offer.address = source;
        offer.session = session;
        offer.stands = 0;
        if (r->error) return;
        if (kind == ADOPT) {
            /* Sessions are counted here: nobody offers one beyond the next. */
            if (first == d->run && (session <= d->session || session - d->session == 1))
                adopted(d, &offer, now);
        } else if (!d->serving && session == d->session && is_mine(d, first)) {
            go_on(d, now, &offer);
        } else if (d->serving && strcmp(offer.bridge, d->bridge) != 0) {
            say_run(d, GOODBYE, session, d->bridge, source);
        }
    }
}

static void settle(ef_device *d, int entity, uint64_t number) {
    if (d->entities[entity].safe < number) d->entities[entity].safe = number;
    for (int i = 0; i < EF_MOST_ITEMS; i++)
        if (d->items[i].entity == entity && d->items[i].number <= number) d->items[i].entity = 255;
}

static void accepted(ef_device *d, int kind, ef_reader *r, uint32_t now) {
    char bridge[EF_NAME_BYTES + 1];
    int index = ef_get_u8(r);
    uint64_t number = ef_get_u64(r);
    ef_entity *e = d->entities + index;
    if (r->error || index >= d->entity_count) return;
    if (kind == SAFE) {
        if (number <= e->safe || number > e->sent || e->asking) return;
        settle(d, index, number);
        if (e->slow) {
            e->slow = e->safe < e->sent;
            e->due = now;
        }
        return;
    }
    get_name(r, bridge);
    if (r->error || !e->asking || strcmp(bridge, e->sent_to) != 0) return;
    settle(d, index, number);
    e->asking = 0;
    e->sent = e->safe;
    e->due = now;
}

static void done(ef_device *d, int number, int fault, uint32_t now) {
    ef_entity *e = d->entities + d->ready;
    if (d->ready >= d->entity_count || number != 3 * d->ready + d->step + 1) return;
    e->fault = (uint8_t)fault;
    d->request_due = now;
    if (fault == NO_SUCH_ENTITY) {
        d->ready = d->step = 0;
    } else if (fault) {
        d->step = 0;
        d->request_due = now + 2000;
    } else if (d->step == (e->role == EF_ITEMS ? 1 : 2)) {
        d->ready++;
        d->step = 0;
    } else {
        d->step++;
    }
}

static void alive(ef_device *d, ef_reader *r) {
    uint32_t confirmed = ef_get_u32(r);
    uint8_t entities;
    ef_get_u32(r);
    entities = ef_get_u8(r);
    if (r->error) return;
    d->confirmed = confirmed;
    if (entities < d->ready) {
        d->ready = entities;
        d->step = 0;
    }
    if (d->offer.stands) {
        d->offer.stands = 0;
        say_run(d, SERVED, d->session, d->bridge, d->offer.address);
    }
}

static void sample(ef_device *d, ef_reader *r) {
    int index = ef_get_u8(r);
    uint32_t mark = ef_get_u32(r);
    if (r->error || index >= d->entity_count) return;
    d->received++;
    if (d->entities[index].role != EF_SUBSCRIBER) return;
    for (int i = 0; i < d->mark_count; i++)
        if (d->marks[i] == mark) return;
    d->marks[d->mark_next] = mark;
    d->mark_next = (uint8_t)((d->mark_next + 1) % EF_MARKS);
    if (d->mark_count < EF_MARKS) d->mark_count++;
    if (d->sample) d->sample(d->context, index, r);
}

static void in_session(ef_device *d, int kind, int number, ef_reader *r, uint32_t now) {
    char bridge[EF_NAME_BYTES + 1];
    uint32_t received;
    int fault;
    switch (kind) {
    case ALIVE:
        alive(d, r);
        break;
    case MOVED:
        received = ef_get_u32(r);
        get_name(r, bridge);
        if (r->error) break;
        if (d->confirmed < received) d->confirmed = received;
        if (d->offer.stands && (!bridge[0] || strcmp(bridge, d->offer.bridge) == 0))
            go_on(d, now, &d->offer);
        else
            search(d, now);
        break;
    case DONE:
        fault = ef_get_u8(r);
        if (!r->error) done(d, number, fault, now);
        break;
    case SAFE:
    case SETTLED:
        accepted(d, kind, r, now);
        break;
    case DATA:
        sample(d, r);
        break;
    default:
        break;
    }
}

void ef_receive(ef_device *d, const uint8_t *data, size_t size, ef_address source, uint32_t now) {
    ef_reader r = {data, size, 18, 0};
    uint32_t session;
    int kind, number, inside;
    if (size < HEADER || memcmp(data, "EF\1", 3) != 0 || memcmp(data + 6, d->guid, 12) != 0) return;
    kind = data[3];
    session = ef_get_u32(&r);
    number = ef_get_u16(&r);
    inside = !at_door_kind(kind);
    if (inside && !(d->serving && session == d->session && source.host == d->address.host &&
                    source.port == d->address.port))
        return;
    if ((data[4] & 1) != (d->key ? 1 : 0)) return;
    if (d->key) {
        uint8_t digest[32], wrong = 0;
        uint64_t counter;
        ef_reader seal = {data, size, size - SEAL, 0};
        if (size < HEADER + SEAL) return;
        counter = ef_get_u64(&seal);
        hmac(inside ? d->session_key : d->key, data, size - TAG, digest);
        for (int i = 0; i < TAG; i++) wrong |= digest[i] ^ data[size - TAG + (size_t)i];
        if (wrong || (inside && counter <= d->bridge_counter)) return;
        if (inside) d->bridge_counter = counter;
        r.size -= SEAL;
    }
    if (!inside) {
        at_door(d, kind, session, &r, source, now);
        return;
    }
    d->heard = now;
    in_session(d, kind, number, &r, now);
}

/* -- doing --------------------------------------------------------------------------------------- */

/* The members of a type: "Name(first f64, second text32)". Returns where the next one begins. */
static const char *put_field(ef_device *d, const char *at) {
    static const char kinds[12][5] = {"bool", "i8",  "i16", "i32", "i64", "u8",
                                      "u16",  "u32", "u64", "f32", "f64", "text"};
    const char *name = at, *kind;
    unsigned most = 0;
    size_t size;
    int index;
    while (*at && *at != ' ') at++;
    size = (size_t)(at - name);
    while (*at == ' ') at++;
    kind = at;
    while (*at && *at != ',' && *at != ')') at++;
    for (index = 0; index < 12; index++) {
        size_t length = strlen(kinds[index]);
        if (strncmp(kind, kinds[index], length) == 0 && (index == 11 || kind + length == at)) break;
    }
    if (index == 11) {
        for (kind += 4; kind < at; kind++) most = most * 10 + (unsigned)(*kind - '0');
        if (!most) most = 255;
    }
    ef_put_u8(d, (uint8_t)(index + 1));
    ef_put_u8(d, (uint8_t)most);
    put_text(d, name, size);
    while (*at == ',' || *at == ' ') at++;
    return at;
}

static void put_type(ef_device *d, const char *type) {
    const char *at = strchr(type, '(');
    uint8_t fields = 1;
    if (!at) {
        d->out_error = 1;
        return;
    }
    put_text(d, type, (size_t)(at - type));
    for (const char *comma = at; (comma = strchr(comma, ',')) != NULL; comma++) fields++;
    ef_put_u8(d, fields);
    for (at++; *at && *at != ')';) at = put_field(d, at);
}

static void set_up(ef_device *d, uint32_t now) {
    ef_entity *e = d->entities + d->ready;
    if (d->ready >= d->entity_count || !reached(now, d->request_due)) return;
    d->request_due = now + TRY_MS;
    begin(d, CREATE + d->step, d->session, (uint16_t)(3 * d->ready + d->step + 1));
    ef_put_u8(d, d->ready);
    if (d->step == 0) {
        ef_put_u8(d, e->role);
    } else if (d->step == 1) {
        ef_put_u8(d, e->reliable);
        ef_put_text(d, e->topic);
    } else {
        put_type(d, e->type);
    }
    finish(d, &d->address);
}

static ef_item *next_item(ef_device *d, int entity, uint64_t after) {
    ef_item *found = NULL;
    for (int i = 0; i < EF_MOST_ITEMS; i++) {
        ef_item *one = d->items + i;
        if (one->entity == entity && one->number > after && (!found || one->number < found->number))
            found = one;
    }
    return found;
}

static void send_items(ef_device *d, int index, uint32_t now) {
    ef_entity *e = d->entities + index;
    ef_item *item;
    if (e->asking) {
        if (!reached(now, e->due)) return;
        e->due = now + 2 * TRY_MS;
        begin(d, SETTLE, d->session, 0);
        ef_put_u8(d, (uint8_t)index);
        ef_put_text(d, e->sent_to);
        finish(d, &d->address);
        return;
    }
    item = e->slow ? NULL : next_item(d, index, e->sent);
    if (!item && reached(now, e->due) && (item = next_item(d, index, 0)) != NULL) e->slow = 1;
    for (; item; item = e->slow ? NULL : next_item(d, index, item->number)) {
        begin(d, ITEM, d->session, (uint16_t)(item->number - e->safe));
        ef_put_u8(d, (uint8_t)index);
        ef_put_u64(d, item->number);
        ef_put_u64(d, item->time);
        ef_put_u64(d, d->salt);
        ef_put(d, item->payload, item->size);
        finish(d, &d->address);
        if (e->sent < item->number) e->sent = item->number;
        memcpy(e->sent_to, d->bridge, sizeof e->sent_to);
        e->due = now + RESEND_MS;
    }
}

void ef_poll(ef_device *d, uint32_t now) {
    if (d->serving && d->offer.stands && now - d->probe >= PROBE_MS && !reached(d->heard, d->probe))
        go_on(d, now, &d->offer);
    if (d->serving && now - d->heard >= 3 * d->heartbeat_ms) search(d, now);
    if (!d->serving) {
        if (reached(now, d->due)) say_connect(d, now, NULL);
    } else {
        if (reached(now, d->due)) beat(d, now);
        set_up(d, now);
        for (int i = 0; i < d->ready; i++)
            if (d->entities[i].role == EF_ITEMS) send_items(d, i, now);
    }
    if (d->farewell_left && reached(now, d->farewell_due)) {
        d->farewell_left--;
        d->farewell_due = now + TRY_MS;
        say_run(d, GOODBYE, d->farewell_session, d->farewell_to, d->farewell_address);
    }
}

void ef_begin(ef_device *d, int entity) {
    d->out_entity = entity;
    begin(d, DATA, d->session, 0);
    if (!d->serving || entity < 0 || entity >= d->ready) {
        d->out_error = 1;
        return;
    }
    ef_put_u8(d, (uint8_t)entity);
    ef_put_u32(d, d->entities[entity].mark + 1);
}

int ef_publish(ef_device *d) {
    if (!finish(d, &d->address)) return 0;
    d->entities[d->out_entity].mark++;
    d->sent++;
    return 1;
}

int ef_send_item(ef_device *d, int entity, const void *payload, size_t size, uint64_t time_us) {
    if (entity < 0 || entity >= d->entity_count || size > EF_ITEM_BYTES) return 0;
    for (int i = 0; i < EF_MOST_ITEMS; i++) {
        ef_item *free = d->items + i;
        if (free->entity != 255) continue;
        free->entity = (uint8_t)entity;
        free->number = ++d->entities[entity].newest;
        free->time = time_us;
        free->size = (uint16_t)size;
        memcpy(free->payload, payload, size);
        return 1;
    }
    return 0;
}

void ef_leave(ef_device *d) {
    if (!d->serving) return;
    say_run(d, GOODBYE, d->session, "", d->address);
    d->serving = 0;
}

/* -- making -------------------------------------------------------------------------------------- */

void ef_init(ef_device *d, const char *name, uint64_t run, const uint8_t *guid, const uint8_t *key,
             ef_send_call send, ef_sample_call take_sample, void *context) {
    uint8_t digest[32];
    memset(d, 0, sizeof *d);
    d->name = name;
    d->run = d->counter = run;
    d->key = key;
    d->send = send;
    d->sample = take_sample;
    d->context = context;
    d->heartbeat_ms = 500;
    ef_sha256((const uint8_t *)name, strlen(name), digest);
    memcpy(d->guid, guid ? guid : digest, sizeof d->guid);
    for (int i = 0; i < EF_MOST_ITEMS; i++) d->items[i].entity = 255;
}

static int add(ef_device *d, int role, const char *topic, const char *type, int reliable) {
    ef_entity *e = d->entities + d->entity_count;
    if (d->entity_count >= EF_MOST_ENTITIES) return -1;
    e->role = (uint8_t)role;
    e->topic = topic;
    e->type = type;
    e->reliable = reliable ? 1 : 0;
    return d->entity_count++;
}

int ef_publisher(ef_device *d, const char *topic, const char *type, int reliable) {
    return add(d, EF_PUBLISHER, topic, type, reliable);
}

int ef_subscriber(ef_device *d, const char *topic, const char *type, int reliable) {
    return add(d, EF_SUBSCRIBER, topic, type, reliable);
}

int ef_items(ef_device *d, const char *topic) { return add(d, EF_ITEMS, topic, "", 1); }
