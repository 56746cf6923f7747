// Connects this network namespace with another one, with a delay.
//
// delay-network NAMESPACE-FILE MILLISECONDS: creates hcnear here and hcfar there, and delivers each
// packet after half of the round trip, until it is killed. It prints "ready". For root. Unlike tc's
// netem it needs no kernel module.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { packet_size = 1500, slots = 1 << 16 };

struct packet {
  int64_t due;
  int length;
  char bytes[packet_size];
};

// The packets in one direction.
struct direction {
  int from, to;
  unsigned first, count;
  struct packet *packets;
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int device(const char *name) {
  int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) fail("/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(file, TUNSETIFF, &request) != 0) fail(name);
  return file;
}

static void move(struct direction *direction, int64_t delay) {
  int64_t time = now();
  for (int number = 0; number < 256 && direction->count < slots; number++) {
    struct packet *packet = &direction->packets[(direction->first + direction->count) % slots];
    ssize_t length = read(direction->from, packet->bytes, packet_size);
    if (length <= 0) break;
    packet->length = (int)length;
    packet->due = time + delay;
    direction->count++;
  }
  time = now();
  while (direction->count > 0 && direction->packets[direction->first].due <= time) {
    struct packet *packet = &direction->packets[direction->first];
    if (write(direction->to, packet->bytes, packet->length) < 0 && errno == EAGAIN) break;
    direction->first = (direction->first + 1) % slots;
    direction->count--;
  }
}

int main(int count, char **arguments) {
  if (count != 3) return fprintf(stderr, "Usage: delay-network NAMESPACE-FILE MILLISECONDS\n"), 2;
  int64_t delay = (int64_t)(atof(arguments[2]) * 1e6 / 2);
  int near = device("hcnear");
  int other = open(arguments[1], O_RDONLY | O_CLOEXEC);
  if (other < 0 || setns(other, CLONE_NEWNET) != 0) fail(arguments[1]);
  int far = device("hcfar");
  // Otherwise the system may wake it 50 us late.
  prctl(PR_SET_TIMERSLACK, 1);
  struct direction directions[2] = {{.from = near, .to = far}, {.from = far, .to = near}};
  for (int number = 0; number < 2; number++) {
    directions[number].packets = calloc(slots, sizeof(struct packet));
    if (!directions[number].packets) fail("memory");
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    int64_t due = INT64_MAX;
    struct pollfd files[2];
    for (int number = 0; number < 2; number++) {
      struct direction *direction = &directions[number];
      move(direction, delay);
      files[number] = (struct pollfd){
          .fd = direction->from, .events = direction->count < slots ? POLLIN : 0};
      struct packet *next = &direction->packets[direction->first];
      if (direction->count > 0 && next->due < due) due = next->due;
    }
    int64_t wait = due == INT64_MAX ? 3600000000000LL : due - now();
    if (wait <= 0) wait = 0;
    struct timespec time = {wait / 1000000000, wait % 1000000000};
    ppoll(files, 2, &time, NULL);
  }
}
