// A fake player for .ci/restart: go run ./internal/player SERVER SECONDS. It calls and streams for that time by
// each protocol, prints a line for each failure, and a summary.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"floors.example/go"
	"floors.example/go/floorsv1"
)

const (
	pause       = 5 * time.Millisecond
	streamCount = 300
)

// player counts what it got until end.
type player struct {
	end time.Time

	lock                  sync.Mutex
	calls, floors, failed int
	longest               time.Duration
}

// got counts one answer, or prints why there is none.
func (p *player) got(counter *int, name string, since time.Time, err error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.longest = max(p.longest, time.Since(since))
	if err == nil {
		*counter++
		return
	}
	p.failed++
	fmt.Printf("%s: %v\n", name, err)
}

// call gets floors until the end, at least one.
func (p *player) call(client *floors.Client, name string) {
	for number := uint32(1); number == 1 || time.Now().Before(p.end); number++ {
		start := time.Now()
		_, _, err := client.Get(context.Background(), spec(42, number))
		p.got(&p.calls, name, start, err)
		time.Sleep(pause)
	}
}

// stream reads streams until the end, at least one.
func (p *player) stream(client *floors.Client, name string) {
	for again := true; again; again = time.Now().Before(p.end) {
		number, start := uint32(1), time.Now()
		for floor, err := range client.Stream(context.Background(), spec(43, 1), streamCount) {
			if err == nil && floor.Message.Spec.Number != number {
				err = fmt.Errorf("floor %d instead of %d", floor.Message.Spec.Number, number)
			}
			p.got(&p.floors, name, start, err)
			time.Sleep(pause)
			if err != nil || !time.Now().Before(p.end) {
				break
			}
			number, start = number+1, time.Now()
		}
	}
}

func spec(seed uint64, number uint32) *floorsv1.FloorSpec {
	return &floorsv1.FloorSpec{Seed: seed, Number: number, Width: 32, Height: 32}
}

func main() {
	seconds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	player := &player{end: time.Now().Add(time.Duration(seconds) * time.Second)}
	var playing sync.WaitGroup
	for name, protocol := range map[string]floors.Protocol{"grpc": floors.GRPC, "connect": floors.Connect, "grpc-web": floors.GRPCWeb} {
		client, err := floors.New(os.Args[1], floors.WithProtocol(protocol))
		if err != nil {
			log.Fatal(err)
		}
		for kind, play := range map[string]func(*floors.Client, string){"call": player.call, "stream": player.stream} {
			playing.Add(1)
			go func() {
				defer playing.Done()
				play(client, name+" "+kind)
			}()
		}
	}
	playing.Wait()
	fmt.Printf("%d calls, %d floors streamed, %d failed, longest %.1f s\n",
		player.calls, player.floors, player.failed, player.longest.Seconds())
}
