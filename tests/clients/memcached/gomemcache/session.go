// A session of gomemcache: `session PORT`. Prints the client's results, a line a step.
package main

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func step(name string, told ...interface{}) {
	for i, part := range told {
		if item, is := part.(*memcache.Item); is && item != nil {
			told[i] = fmt.Sprintf("%q flags %d", item.Value, item.Flags)
		} else if is {
			told[i] = "nothing"
		}
	}
	fmt.Printf("%s: %s", name, fmt.Sprintln(told...))
}

func main() {
	anyBytes := make([]byte, 1024)
	for i := range anyBytes {
		anyBytes[i] = byte(i)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 32000)
	item := func(key, value string) *memcache.Item {
		return &memcache.Item{Key: key, Value: []byte(value), Flags: 7}
	}
	client := memcache.New("127.0.0.1:" + os.Args[1])
	client.Timeout = time.Minute
	get := func(name, key string) *memcache.Item {
		found, err := client.Get(key)
		step(name, found, err)
		return found
	}
	count := func(name string, count func(string, uint64) (uint64, error), key string, delta uint64) {
		number, err := count(key, delta)
		step(name, number, err)
	}

	step("ping", client.Ping())
	step("flush", client.FlushAll())
	get("get of nothing", "k")
	step("set", client.Set(item("k", "one")))
	get("get", "k")
	step("add over it", client.Add(item("k", "two")))
	step("add", client.Add(item("added", "two")))
	step("replace", client.Replace(item("k", "three")))
	step("replace nothing", client.Replace(item("nothing", "x")))
	step("append", client.Append(item("k", ">")))
	step("prepend", client.Prepend(item("k", "<")))
	step("append to nothing", client.Append(item("nothing", "x")))
	found := get("get what was joined", "k")
	stale := *found
	found.Value = []byte("four")
	step("cas", client.CompareAndSwap(found))
	step("cas again", client.CompareAndSwap(&stale))
	step("delete", client.Delete("added"))
	step("delete nothing", client.Delete("added"))
	stale.Key = "nothing"
	step("cas of nothing", client.CompareAndSwap(&stale))
	get("get after cas", "k")
	count("incr nothing", client.Increment, "n", 1)
	step("set a number", client.Set(item("n", "10")))
	count("incr", client.Increment, "n", 89)
	count("incr to more digits", client.Increment, "n", 1)
	count("decr", client.Decrement, "n", 1)
	count("decr below zero", client.Decrement, "n", 1000)
	count("incr a word", client.Increment, "k", 1)
	step("touch", client.Touch("k", 100))
	step("touch nothing", client.Touch("nothing", 100))
	found, err := client.GetAndTouch("k", 200)
	step("get and touch", found, err)
	found, err = client.GetAndTouch("nothing", 200)
	step("get and touch nothing", found, err)
	for i := 0; i < 5; i++ {
		step("set one of many", client.Set(item(fmt.Sprintf("m%d", i), fmt.Sprintf("value %d", i))))
	}
	many, err := client.GetMulti([]string{"m0", "m3", "nothing", "m4"})
	var told []string
	for key, one := range many {
		told = append(told, fmt.Sprintf("%s %s", key, one.Value))
	}
	sort.Strings(told)
	step("get many", strings.Join(told, ", "), err)
	step("set any bytes", client.Set(&memcache.Item{Key: "bytes", Value: anyBytes, Flags: 1<<32 - 1}))
	found, err = client.Get("bytes")
	step("get any bytes", err == nil && bytes.Equal(found.Value, anyBytes) && found.Flags == 1<<32-1)
	step("set nothing at all", client.Set(item("empty", "")))
	get("get nothing at all", "empty")
	step("set much", client.Set(&memcache.Item{Key: "large", Value: large}))
	found, err = client.Get("large")
	step("get much", err == nil && bytes.Equal(found.Value, large))
	longest := strings.Repeat("k", 250)
	step("set the longest key", client.Set(item(longest, "x")))
	get("get the longest key", longest)
	over := item("gone", "x")
	over.Expiration = -1
	step("set over at once", client.Set(over))
	get("get it", "gone")
	step("set what stays", client.Set(item("left", "by gomemcache")))
	step("close", client.Close())
}
