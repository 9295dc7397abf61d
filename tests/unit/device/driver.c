/* Plays a device of the C client: commands come line by line, what it does is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenflow_device.h"

static ef_device device;
static char name[65], topics[EF_MOST_ENTITIES][129], types[EF_MOST_ENTITIES][600];
static uint8_t key[32], bytes[4096];

static void print_hex(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) printf("%02x", data[i]);
}

static void on_send(void *context, const uint8_t *data, size_t size, const ef_address *to) {
    (void)context;
    printf("send ");
    print_hex(data, size);
    if (to) printf(" %" PRIu32 " %u\n", to->host, (unsigned)to->port);
    else printf(" *\n");
}

static void on_sample(void *context, int entity, ef_reader *sample) {
    (void)context;
    printf("sample %d ", entity);
    print_hex(sample->data + sample->at, sample->size - sample->at);
    printf("\n");
}

static size_t unhex(const char *text, uint8_t *out) {
    size_t size = 0;
    for (; text[0] && text[1] && text[0] != '-'; text += 2) {
        unsigned value = 0;
        sscanf(text, "%2x", &value);
        out[size++] = (uint8_t)value;
    }
    return size;
}

static void add(const char *line) {
    unsigned role, reliable;
    int index = device.entity_count, at = 0;
    sscanf(line, "entity %u %u %128s %n", &role, &reliable, topics[index], &at);
    snprintf(types[index], sizeof types[index], "%s", line + at);
    if (role == EF_PUBLISHER) ef_publisher(&device, topics[index], types[index], (int)reliable);
    else if (role == EF_SUBSCRIBER) ef_subscriber(&device, topics[index], types[index], (int)reliable);
    else ef_items(&device, topics[index]);
}

int main(void) {
    static char line[9000], hex[8200];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t number;
        uint32_t now, host;
        unsigned port;
        int entity;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "init %64s %" SCNu64 " %8199s", name, &number, hex) == 3) {
            size_t size = unhex(hex, key);
            ef_init(&device, name, number, NULL, size ? key : NULL, on_send, on_sample, NULL);
        } else if (strncmp(line, "entity ", 7) == 0) {
            add(line);
        } else if (sscanf(line, "recv %8199s %" SCNu32 " %u %" SCNu32, hex, &host, &port, &now) == 4) {
            ef_address source;
            uint8_t *exact;
            size_t size = unhex(hex, bytes);
            source.host = host;
            source.port = (uint16_t)port;
            exact = malloc(size ? size : 1); /* so that a sanitizer sees what is read beyond it */
            memcpy(exact, bytes, size);
            ef_receive(&device, exact, size, source, now);
            free(exact);
        } else if (sscanf(line, "poll %" SCNu32, &now) == 1) {
            ef_poll(&device, now);
        } else if (sscanf(line, "data %d %8199s", &entity, hex) == 2) {
            ef_begin(&device, entity);
            ef_put(&device, bytes, unhex(hex, bytes));
            ef_publish(&device);
        } else if (sscanf(line, "item %d %8199s %" SCNu64, &entity, hex, &number) == 3) {
            size_t size = unhex(hex, bytes);
            ef_send_item(&device, entity, bytes, size, number);
        } else if (strcmp(line, "leave") == 0) {
            ef_leave(&device);
        } else {
            printf("unknown\n");
        }
        printf(".\n");
        fflush(stdout);
    }
    return 0;
}
