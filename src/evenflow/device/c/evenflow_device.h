/* A device at an Evenflow bridge, in portable C99: no allocation, no socket, no clock.
 *
 * The caller gives what it received (ef_receive) and the time (ef_poll, every few milliseconds), and
 * is called back with what is to be sent and with samples that came. The rules are those of
 * docs/bridge.md; evenflow_device.py says the same in Python, byte for byte.
 *
 *     static ef_device device;
 *     ef_init(&device, "boiler-7", run, NULL, NULL, send_datagram, take_sample, NULL);
 *     int temperature = ef_publisher(&device, "temperature", "Temperature(celsius f64, room text32)", 1);
 *     for (;;) {
 *         ... ef_receive(&device, bytes, size, from, now_ms);
 *         ef_poll(&device, now_ms);
 *         ef_begin(&device, temperature);
 *         ef_put_f64(&device, 21.5);
 *         ef_put_text(&device, "cellar");
 *         ef_publish(&device);
 *     }
 *
 * Names, topics and types are not copied: they must live as long as the device.
 */
#ifndef EVENFLOW_DEVICE_H
#define EVENFLOW_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifndef EF_MOST_ENTITIES
#define EF_MOST_ENTITIES 4 /* entities of this device; a bridge takes 8 unless told otherwise */
#endif
#ifndef EF_MOST_DATAGRAM
#define EF_MOST_DATAGRAM 512 /* bytes of a datagram that this device sends; at most 1200 */
#endif
#ifndef EF_MOST_ITEMS
#define EF_MOST_ITEMS 4 /* items that are kept until they are safe; 0 is not allowed */
#endif
#ifndef EF_ITEM_BYTES
#define EF_ITEM_BYTES 64 /* bytes of an item */
#endif
#define EF_NAME_BYTES 64 /* bytes of a bridge's name */
#define EF_MARKS 32      /* samples that are remembered, to drop those that come twice */

typedef struct {
    uint32_t host; /* IPv4, as a number: 127.0.0.1 is 0x7f000001 */
    uint16_t port;
} ef_address;

/* Send a datagram; to is NULL for all who may be bridges: the group, or the addresses known. */
typedef void (*ef_send_call)(void *context, const uint8_t *data, size_t size, const ef_address *to);

/* Reads the values of a sample in their declared order; error is set when it is too short. */
typedef struct {
    const uint8_t *data;
    size_t size, at;
    int error;
} ef_reader;

typedef void (*ef_sample_call)(void *context, int entity, ef_reader *sample);

typedef struct {
    const char *topic, *type;
    uint8_t role, reliable, fault, asking, slow;
    uint32_t mark, due;
    uint64_t newest, safe, sent; /* numbers of items */
    char sent_to[EF_NAME_BYTES + 1];
} ef_entity;

typedef struct {
    uint64_t number, time;
    uint16_t size;
    uint8_t entity; /* 255: free */
    uint8_t payload[EF_ITEM_BYTES];
} ef_item;

typedef struct {
    char bridge[EF_NAME_BYTES + 1];
    ef_address address;
    uint32_t session;
    uint64_t salt;
    uint8_t entities, stands;
} ef_offer;

typedef struct {
    const char *name;
    const uint8_t *key;
    ef_send_call send;
    ef_sample_call sample;
    void *context;
    uint8_t guid[12], session_key[32];
    uint64_t run, counter, bridge_counter, echo_from, salt;
    uint32_t session, served, due, heard, request_due, probe, farewell_due;
    uint32_t sent, received, confirmed, unsure, heartbeat_ms;
    uint32_t marks[EF_MARKS];
    uint8_t mark_count, mark_next;
    uint8_t serving, has_address, direct, ready, step, entity_count, farewell_left;
    uint32_t tries;
    char bridge[EF_NAME_BYTES + 1], farewell_to[EF_NAME_BYTES + 1];
    ef_address address, farewell_address;
    uint32_t farewell_session;
    ef_offer offer;
    ef_entity entities[EF_MOST_ENTITIES];
    ef_item items[EF_MOST_ITEMS];
    uint8_t out[EF_MOST_DATAGRAM];
    size_t out_size;
    int out_error, out_entity;
} ef_device;

enum { EF_PUBLISHER = 1, EF_SUBSCRIBER = 2, EF_ITEMS = 3 };

/* guid: 12 bytes, or NULL to derive it from the name. key: 32 bytes, or NULL. run: larger at every
 * start (a clock, a count of starts); if it is not, the bridge says so and the device goes on above. */
void ef_init(ef_device *device, const char *name, uint64_t run, const uint8_t *guid,
             const uint8_t *key, ef_send_call send, ef_sample_call sample, void *context);

/* The number of the new entity, or -1 when there are too many. */
int ef_publisher(ef_device *device, const char *topic, const char *type, int reliable);
int ef_subscriber(ef_device *device, const char *topic, const char *type, int reliable);
int ef_items(ef_device *device, const char *topic);

void ef_receive(ef_device *device, const uint8_t *data, size_t size, ef_address source, uint32_t now);
void ef_poll(ef_device *device, uint32_t now);
void ef_leave(ef_device *device);

/* A sample: begin, put its values in their order, publish. 1: sent; 0: no bridge now, or no room. */
void ef_begin(ef_device *device, int entity);
void ef_put(ef_device *device, const void *bytes, size_t size);
void ef_put_u8(ef_device *device, uint8_t value); /* bool, i8, u8 */
void ef_put_u16(ef_device *device, uint16_t value);
void ef_put_u32(ef_device *device, uint32_t value);
void ef_put_u64(ef_device *device, uint64_t value);
void ef_put_f32(ef_device *device, float value);
void ef_put_f64(ef_device *device, double value);
void ef_put_text(ef_device *device, const char *text);
int ef_publish(ef_device *device);

/* An item of a sliced topic: 1: kept until it is safe; 0: too many are not safe, or it is too large. */
int ef_send_item(ef_device *device, int entity, const void *payload, size_t size, uint64_t time_us);

uint8_t ef_get_u8(ef_reader *sample);
uint16_t ef_get_u16(ef_reader *sample);
uint32_t ef_get_u32(ef_reader *sample);
uint64_t ef_get_u64(ef_reader *sample);
float ef_get_f32(ef_reader *sample);
double ef_get_f64(ef_reader *sample);
/* Writes at most room - 1 bytes and a zero; the length of the whole text is returned. */
size_t ef_get_text(ef_reader *sample, char *text, size_t room);

/* SHA-256 and HMAC, for who needs them besides. */
void ef_sha256(const uint8_t *data, size_t size, uint8_t digest[32]);

#endif
