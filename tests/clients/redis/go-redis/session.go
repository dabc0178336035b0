// go-redis in RESP2 and RESP3: a program's results.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func session(protocol int) {
	ctx := context.Background()
	r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1], Protocol: protocol, ClientName: "session"})
	defer r.Close()
	fmt.Println("--- RESP", protocol)
	fmt.Println("flush", r.FlushDB(ctx).Val())
	fmt.Println("ping", r.Ping(ctx).Val())
	fmt.Println("name", r.ClientGetName(ctx).Val())
	fmt.Println("set", r.Set(ctx, "greeting", "hello", 100*time.Second).Val())
	fmt.Println("get", r.Get(ctx, "greeting").Val())
	fmt.Println("nil", errors.Is(r.Get(ctx, "nosuch").Err(), redis.Nil))
	fmt.Println("setnx", r.SetNX(ctx, "greeting", "x", 0).Val())
	fmt.Println("incr", r.Incr(ctx, "n").Val(), r.IncrBy(ctx, "n", 4).Val(), r.IncrByFloat(ctx, "x", 1.5).Val())
	fmt.Println("mget", r.MGet(ctx, "greeting", "nosuch", "n").Val())
	fmt.Println("hset", r.HSet(ctx, "user", "name", "Ann", "age", 30).Val())
	all := r.HGetAll(ctx, "user").Val()
	fmt.Println("hgetall", len(all), all["name"], all["age"])
	fmt.Println("hmget", r.HMGet(ctx, "user", "age", "nosuch").Val())
	fmt.Println("exists", r.Exists(ctx, "user", "n", "nosuch").Val())
	fmt.Println("wrong type", r.Get(ctx, "user").Err())
	keys := []string{}
	for i := r.Scan(ctx, 0, "*", 2).Iterator(); i.Next(ctx); {
		keys = append(keys, i.Val())
	}
	sort.Strings(keys)
	fmt.Println("scan", keys)
	cmds, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := 0; i < 500; i++ {
			p.Set(ctx, fmt.Sprint("p", i), i, 0)
		}
		return nil
	})
	fmt.Println("pipeline", len(cmds), err)
	cmds, err = r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "n")
		p.Get(ctx, "n")
		return nil
	})
	fmt.Println("transaction", cmds[0].(*redis.IntCmd).Val(), cmds[1].(*redis.StringCmd).Val(), err)
	err = r.Watch(ctx, func(tx *redis.Tx) error {
		r.Incr(ctx, "n")
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "n", 0, 0)
			return nil
		})
		return err
	}, "n")
	fmt.Println("watch", err)
	fmt.Println("del", r.Del(ctx, "greeting", "nosuch").Val())
	fmt.Println("unknown", strings.Contains(fmt.Sprint(r.Do(ctx, "nosuch", "x").Err()), "unknown command"))
}

func main() {
	session(2)
	session(3)
}
