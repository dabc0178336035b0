/* again.c: has a client of the server ask every SELECT three times, and hear the last answer.

   Preloaded into the suite's program for tests by tools/server-suite: tests ask most things once, and the first of each
   form is the server's, so that workers would have little to answer. A text or an execution that is one packet to a
   socket is sent, what the server says to it is read and forgotten; twice, before it is sent as it would have been. It
   knows answers without CLIENT_DEPRECATE_EOF, as that program's library asks for them; what is encrypted or compressed
   does not look like a packet, and passes. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { query = 3, prepare = 0x16, execute = 0x17, header_bytes = 4, text_bytes_max = 60000, times = 2 };

static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_recv)(int, void *, size_t, int);

static bool prepared_read; /* whether what was prepared last is a SELECT */

static bool read_all(int fd, unsigned char *to, size_t size) {
  while (size != 0) {
    const ssize_t got = real_recv(fd, to, size, 0);
    if (got > 0) {
      to += got;
      size -= (size_t)got;
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      struct pollfd readable = {fd, POLLIN, 0};
      if (poll(&readable, 1, 60000) <= 0) return false;
    } else {
      return false;
    }
  }
  return true;
}

/* Reads a packet and keeps its first bytes; its size, or -1 at the end of the connection. */
static long read_packet(int fd, unsigned char *first, size_t kept) {
  unsigned char header[header_bytes];
  if (!read_all(fd, header, sizeof header)) return -1;
  const size_t size = header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16;
  unsigned char *const body = malloc(size + 1);
  const bool read = body != NULL && read_all(fd, body, size);
  memset(first, 0, kept);
  if (read) memcpy(first, body, size < kept ? size : kept);
  free(body);
  return read ? (long)size : -1;
}

/* Reads one result. Returns 1 if another follows, 0 if not, -1 if it was an error, or the connection has ended. */
static int read_result(int fd) {
  unsigned char first[8];
  long size = read_packet(fd, first, sizeof first);
  if (size <= 0 || first[0] == 0xff) return -1;
  if (first[0] == 0) return 0;    /* no rows; what a SELECT may do if it has an INTO */
  for (int ends = 0; ends < 2;) { /* of the columns, of the rows */
    size = read_packet(fd, first, sizeof first);
    if (size < 0 || (first[0] == 0xff && size > 1)) return -1;
    if (first[0] == 0xfe && size < 9) ++ends;
  }
  return (first[3] & 8) != 0;
}

static bool is_read(const unsigned char *packet, size_t size) {
  if (size < header_bytes + 10 || size > text_bytes_max || packet[3] != 0) return false;
  if ((packet[0] | (size_t)packet[1] << 8 | (size_t)packet[2] << 16) != size - header_bytes) return false;
  /* A cursor is opened once; that program executes nothing but what it has prepared last. */
  if (packet[4] == execute) return packet[9] == 0 && prepared_read;
  if (packet[4] != query && packet[4] != prepare) return false;
  const char *text = (const char *)packet + header_bytes + 1;
  size_t left = size - header_bytes - 1;
  for (; left != 0 && (isspace((unsigned char)*text) || *text == '('); --left) ++text;
  if (left < 7 || strncasecmp(text, "select", 6) != 0) return false;
  for (; left >= 5; --left, ++text) /* what takes its time, or is done once only */
    if (strncasecmp(text, "into ", 5) == 0 || strncasecmp(text, "sleep", 5) == 0 || *text == ';') return false;
  return true;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  if (real_send == NULL) {
    real_recv = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    real_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
  }
  const unsigned char *const packet = bytes;
  const bool prepares = size > header_bytes && packet[3] == 0 && packet[4] == prepare;
  const bool read = is_read(packet, size);
  if (prepares) prepared_read = read;
  for (int i = 0; i < times && read && !prepares; ++i) {
    if (real_send(fd, bytes, size, flags) != (ssize_t)size) break;
    int result = 1;
    while (result == 1) result = read_result(fd);
    if (result < 0) break;
  }
  return real_send(fd, bytes, size, flags);
}
