// What asynq, Go's job queue, and redsync, its distributed lock, make of the server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const patience = 60 * time.Second

type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(...any) {}

func tell(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

func must(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func until(check func() bool) {
	for end := time.Now().Add(patience); !check(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			must(errors.New("it never happened"))
		}
	}
}

type record struct {
	sync.Mutex
	order []string
	tries int
}

func (r *record) handle(_ context.Context, task *asynq.Task) error {
	r.Lock()
	defer r.Unlock()
	r.order = append(r.order, task.Type()+string(task.Payload()))
	switch task.Type() {
	case "fails":
		return fmt.Errorf("no: %w", asynq.SkipRetry)
	case "again":
		if r.tries++; r.tries < 3 {
			return errors.New("not yet")
		}
	}
	return nil
}

func (r *record) count(prefix string) int {
	r.Lock()
	defer r.Unlock()
	n := 0
	for _, one := range r.order {
		if len(one) >= len(prefix) && one[:len(prefix)] == prefix {
			n++
		}
	}
	return n
}

func queues(addr string) {
	opt := asynq.RedisClientOpt{Addr: addr}
	client := asynq.NewClient(opt)
	inspector := asynq.NewInspector(opt)
	put := func(kind, payload string, options ...asynq.Option) *asynq.TaskInfo {
		info, err := client.Enqueue(asynq.NewTask(kind, []byte(payload)), options...)
		must(err)
		return info
	}
	for i := 0; i < 20; i++ {
		put("add", fmt.Sprintf(" %02d", i))
	}
	put("high", "", asynq.Queue("critical"))
	put("fails", "", asynq.MaxRetry(0))
	put("again", "", asynq.MaxRetry(3))
	put("later", "", asynq.ProcessIn(time.Second))
	put("kept", "", asynq.Retention(time.Hour), asynq.TaskID("kept"))
	_, err := client.Enqueue(asynq.NewTask("kept", []byte("")), asynq.TaskID("kept"))
	tell("same id", errors.Is(err, asynq.ErrTaskIDConflict))
	put("unique", "", asynq.Unique(time.Hour))
	_, err = client.Enqueue(asynq.NewTask("unique", []byte("")), asynq.Unique(time.Hour))
	tell("not unique", errors.Is(err, asynq.ErrDuplicateTask))
	gone := put("gone", "")
	must(inspector.DeleteTask("default", gone.ID))
	info, err := inspector.GetQueueInfo("default")
	must(err)
	tell("waiting", []int{info.Size, info.Pending, info.Scheduled})

	seen := &record{}
	server := asynq.NewServer(opt, asynq.Config{
		Concurrency:              2,
		Queues:                   map[string]int{"critical": 6, "default": 1},
		StrictPriority:           true,
		Logger:                   silent{},
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 100 * time.Millisecond },
		DelayedTaskCheckInterval: 200 * time.Millisecond,
	})
	must(server.Start(asynq.HandlerFunc(seen.handle)))
	until(func() bool { return seen.count("later") == 1 && seen.count("again") == 3 && seen.count("add") == 20 })
	until(func() bool {
		info, err = inspector.GetQueueInfo("default")
		must(err)
		return info.Size == 2 // the one that is kept, and the one that is archived
	})
	tell("first", seen.order[0])
	adds := []string{}
	for _, one := range seen.order {
		if one[:3] == "add" {
			adds = append(adds, one[4:])
		}
	}
	sort.Strings(adds)
	tell("adds", adds)
	tell("tries", seen.count("again"))
	tell("gone", seen.count("gone"))
	tell("left", []int{info.Pending, info.Active, info.Scheduled, info.Retry, info.Archived, info.Completed})
	server.Shutdown()
	archived, err := inspector.ListArchivedTasks("default")
	must(err)
	tell("archived", archived[0].LastErr)
	must(client.Close())
	must(inspector.Close())
}

func locks(addr string) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	rs := redsync.New(goredis.NewPool(client))
	one := rs.NewMutex("lock", redsync.WithExpiry(5*time.Second))
	other := rs.NewMutex("lock", redsync.WithTries(1))
	must(one.Lock())
	tell("second", other.Lock() != nil)
	extended, err := one.Extend()
	tell("extended", []any{extended, err})
	released, err := other.Unlock()
	tell("released by another", []any{released, err != nil})
	released, err = one.Unlock()
	tell("released", []any{released, err})
	total := 0
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			mutex := rs.NewMutex("counter", redsync.WithTries(1000), redsync.WithRetryDelay(5*time.Millisecond))
			for n := 0; n < 10; n++ {
				must(mutex.Lock())
				before := total
				time.Sleep(time.Millisecond)
				total = before + 1
				_, err := mutex.Unlock()
				must(err)
			}
		}()
	}
	wait.Wait()
	tell("counted by turns", total)
}

func main() {
	addr := "127.0.0.1:" + os.Args[1]
	client := redis.NewClient(&redis.Options{Addr: addr})
	must(client.FlushDB(context.Background()).Err())
	must(client.Close())
	queues(addr)
	locks(addr)
}
