// hiredis: prints the replies to commands, one after another and in a pipeline.
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(redisContext *c, const char *name, redisReply *reply) {
  if (reply == NULL) {
    printf("%s: no reply: %s\n", name, c->errstr);
    exit(1);
  }
  printf("%s: type %d, integer %lld, text %s, elements %zu\n", name, reply->type, reply->integer,
         reply->str != NULL ? reply->str : "none", reply->elements);
  freeReplyObject(reply);
}

int main(int count, char **arguments) {
  redisContext *c = count > 1 ? redisConnect("127.0.0.1", atoi(arguments[1])) : NULL;
  if (c == NULL || c->err) return 1;
  tell(c, "flush", redisCommand(c, "FLUSHDB"));
  tell(c, "ping", redisCommand(c, "PING"));
  tell(c, "set", redisCommand(c, "SET %b %b EX 100", "k\0k", (size_t)3, "v\r\n", (size_t)3));
  tell(c, "get", redisCommand(c, "GET %b", "k\0k", (size_t)3));
  tell(c, "absent", redisCommand(c, "GET nosuch"));
  tell(c, "incr", redisCommand(c, "INCRBY n %d", 7));
  tell(c, "hset", redisCommand(c, "HSET h f 1 g 2"));
  tell(c, "hgetall", redisCommand(c, "HGETALL h"));
  tell(c, "wrong type", redisCommand(c, "GET h"));
  for (int i = 0; i < 1000; ++i) redisAppendCommand(c, i % 2 ? "GET n" : "INCR n");
  long long last = 0;
  for (int i = 0; i < 1000; ++i) {
    redisReply *reply = NULL;
    if (redisGetReply(c, (void **)&reply) != REDIS_OK) return 1;
    last = reply->type == REDIS_REPLY_INTEGER ? reply->integer : last;
    freeReplyObject(reply);
  }
  printf("pipeline: %lld\n", last);
  tell(c, "multi", redisCommand(c, "MULTI"));
  tell(c, "queued", redisCommand(c, "INCR n"));
  tell(c, "exec", redisCommand(c, "EXEC"));
  tell(c, "unknown", redisCommand(c, "NOSUCH a"));
  redisFree(c);
  return 0;
}
