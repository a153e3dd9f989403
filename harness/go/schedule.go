package virtual

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The Go scheduler takes a thread from a goroutine after 10 ms of real time, when the garbage collector begins, and when
// the goroutine blocks in a system call. What runs next depends on it, and so does who of two goroutines of one instant
// comes first, for example at a client's limit of requests. On a busy machine a seed would not repeat itself. So a case
// has one thread, collects its garbage while all of its goroutines wait, and makes system calls only then.

// heapLimit bounds what one turn may leave behind before the collector runs within it.
const heapLimit = 2 << 30

// rounds is how often a goroutine lets all others run before it blocks its thread. The scheduler returns to it when no
// other can run, and once in 61 switches in any case.
const rounds = 100

// collector is the garbage collector, run by hand between turns.
type collector struct {
	live uint64 // bytes of objects after the last collection
	size []metrics.Sample
}

// oneThread gives a case one thread and the function that ends this. The end of a case has two: event recorders of older
// versions spin, once shut down, until another goroutine has had its turn.
func oneThread() (end func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(2) }
}

// newCollector takes the collector over. With GOGC set, Go's own runs when it likes.
func newCollector() *collector {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapLimit)
	return &collector{size: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

// collect collects when the heap is five times what the last collection left, a fifth less work than Go's own choice for
// 30 MB. Call it while every other goroutine waits.
func (c *collector) collect() {
	if c == nil {
		return
	}
	if c.live != 0 && c.bytes() < 5*c.live {
		return
	}
	runtime.GC()
	c.live = max(c.bytes(), 8<<20)
}

func (c *collector) bytes() uint64 {
	metrics.Read(c.size)
	return c.size[0].Value.Uint64()
}

// letOthersRun returns when no other goroutine can run.
func letOthersRun() {
	for range rounds {
		runtime.Gosched()
	}
}
