/* A device of the C client on POSIX sockets: publishes readings, prints the commands that it gets.
 *
 * posix_device NAME GROUP PORT
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "evenflow_device.h"

static int sock;
static ef_address group;

static uint64_t clock_us(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static void send_datagram(void *context, const uint8_t *data, size_t size, const ef_address *to) {
    struct sockaddr_in target;
    (void)context;
    memset(&target, 0, sizeof target);
    target.sin_family = AF_INET;
    target.sin_addr.s_addr = htonl((to ? to : &group)->host);
    target.sin_port = htons((to ? to : &group)->port);
    sendto(sock, data, size, 0, (struct sockaddr *)&target, sizeof target);
}

static void take_sample(void *context, int entity, ef_reader *sample) {
    char note[41];
    unsigned valve = ef_get_u8(sample);
    (void)context;
    (void)entity;
    ef_get_text(sample, note, sizeof note);
    if (!sample->error) printf("got %u %s\n", valve, note);
    fflush(stdout);
}

static void receive_all(ef_device *device, uint32_t now) {
    uint8_t data[1500];
    struct sockaddr_in from;
    for (;;) {
        socklen_t length = sizeof from;
        ssize_t size = recvfrom(sock, data, sizeof data, 0, (struct sockaddr *)&from, &length);
        ef_address source;
        if (size < 0) return;
        source.host = ntohl(from.sin_addr.s_addr);
        source.port = ntohs(from.sin_port);
        ef_receive(device, data, (size_t)size, source, now);
    }
}

int main(int count, char **words) {
    static ef_device device;
    struct in_addr loopback;
    uint32_t number = 0, due = 0;
    int reading;
    if (count != 4) return 2;
    group.host = ntohl(inet_addr(words[2]));
    group.port = (uint16_t)atoi(words[3]);
    sock = socket(AF_INET, SOCK_DGRAM, 0);
    fcntl(sock, F_SETFL, O_NONBLOCK);
    loopback.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(sock, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback);
    ef_init(&device, words[1], clock_us(CLOCK_REALTIME), NULL, NULL, send_datagram, take_sample, NULL);
    reading = ef_publisher(&device, "readings",
                           "plant::Reading(device text32, number u32, celsius f64)", 1);
    ef_subscriber(&device, "commands", "plant::Command(valve u8, note text40)", 1);
    for (;;) {
        struct pollfd waits = {sock, POLLIN, 0};
        uint32_t now = (uint32_t)(clock_us(CLOCK_MONOTONIC) / 1000u);
        poll(&waits, 1, 5);
        receive_all(&device, now);
        ef_poll(&device, now);
        if (now - due < 100u) continue;
        due = now;
        ef_begin(&device, reading);
        ef_put_text(&device, words[1]);
        ef_put_u32(&device, number + 1);
        ef_put_f64(&device, 20.5);
        if (ef_publish(&device)) number++;
    }
}
