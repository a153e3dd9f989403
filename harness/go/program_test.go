//go:debug randseednop=0

package virtual_test

import (
	"context"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/virtual"
)

// served runs a program in this process; the connection is the outside's.
func served(t *testing.T, run func(context.Context, virtual.Start, *virtual.Network) error) *virtual.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- virtual.Program{
			Bubble: func(f func()) { synctest.Test(t, func(*testing.T) { f() }) },
			Run:    run,
		}.Serve(virtual.NewConn(theirs))
	}()
	t.Cleanup(func() {
		ours.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	conn := virtual.NewConn(ours)
	if f := receive(t, conn); f.Hello == nil || f.Hello.Protocol != virtual.Protocol {
		t.Fatalf("expected hello, got %+v", f)
	}
	return conn
}

func receive(t *testing.T, conn *virtual.Conn) virtual.Frame {
	t.Helper()
	f, err := conn.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func exchange(t *testing.T, conn *virtual.Conn, f virtual.Frame) virtual.Frame {
	t.Helper()
	if err := conn.Send(f); err != nil {
		t.Fatal(err)
	}
	return receive(t, conn)
}

var end = virtual.Frame{Turn: &virtual.Turn{End: &virtual.End{}}}

func begin(at time.Time, seed int64) virtual.Frame {
	return virtual.Frame{Start: &virtual.Start{Now: at.UnixNano(), Seed: seed}}
}

func TestEachCaseHasItsOwnClockAndSeed(t *testing.T) {
	conn := served(t, func(ctx context.Context, start virtual.Start, n *virtual.Network) error {
		_, err := (&http.Client{Transport: n}).Get(fmt.Sprintf("http://virtual/%d/%s", rand.Int63(), time.Now().UTC().Format(time.RFC3339)))
		<-ctx.Done()
		return err
	})
	var uris []string
	for _, c := range []struct {
		year int
		seed int64
	}{{2030, 7}, {2026, 7}, {2026, 7}, {2026, 8}} {
		now := time.Date(c.year, 1, 1, 0, 0, 0, 0, time.UTC)
		f := exchange(t, conn, begin(now, c.seed))
		if f.Idle == nil || f.Idle.Now != now.UnixNano() || len(f.Idle.Requests) != 1 {
			t.Fatalf("got %+v", f)
		}
		uris = append(uris, f.Idle.Requests[0].URI)
		if f := exchange(t, conn, end); f.Done == nil {
			t.Fatalf("got %+v", f)
		}
	}
	if uris[1] != uris[2] || uris[2] == uris[3] || strings.Split(uris[0], "/")[1] != strings.Split(uris[1], "/")[1] {
		t.Errorf("the seed does not decide: %v", uris)
	}
}

func TestTheEndFailsWhatUsesAContextThatIsNeverCancelled(t *testing.T) {
	var failed []string
	conn := served(t, func(ctx context.Context, _ virtual.Start, n *virtual.Network) error {
		for range 3 { // a writer that retries: it has to see an error, and time has to pass
			_, err := (&http.Client{Transport: n}).Get("http://virtual/events")
			failed = append(failed, err.Error())
			time.Sleep(10 * time.Second)
		}
		return nil
	})
	exchange(t, conn, begin(time.Unix(1800000000, 0), 1))
	if f := exchange(t, conn, end); f.Done == nil || f.Done.Goroutines != 0 {
		t.Fatalf("got %+v", f)
	}
	if len(failed) != 3 || !strings.Contains(failed[2], "the case is over") {
		t.Errorf("got %q", failed)
	}
}

func TestWhatNeverEndsIsCounted(t *testing.T) {
	conn := served(t, func(ctx context.Context, _ virtual.Start, _ *virtual.Network) error {
		go func() { <-make(chan int) }()
		<-ctx.Done()
		return nil
	})
	for i := range 3 {
		exchange(t, conn, begin(time.Unix(1800000000, 0), 1))
		if f := exchange(t, conn, end); f.Done == nil || f.Done.Goroutines != 1 {
			t.Fatalf("case %d: got %+v", i, f)
		}
	}
}

func TestARefusedStartLeavesTheProgramReadyForTheNext(t *testing.T) {
	conn := served(t, func(ctx context.Context, start virtual.Start, _ *virtual.Network) error {
		if start.Seed == 1 {
			return fmt.Errorf("unknown feature gate %q", "X")
		}
		<-ctx.Done()
		return nil
	})
	if f := exchange(t, conn, begin(time.Unix(1800000000, 0), 1)); f.Failed == nil || !strings.Contains(f.Failed.Message, `"X"`) {
		t.Fatalf("got %+v", f)
	}
	if f := exchange(t, conn, begin(time.Unix(1800000000, 0), 2)); f.Idle == nil {
		t.Fatalf("got %+v", f)
	}
	exchange(t, conn, end)
}

// A request under a lock that is not answered at once: the bubble never becomes idle. The outside's limit on real time
// then ends the program, and the goroutine dump has the culprit.
func TestAHangIsExplainedByTheGoroutineDump(t *testing.T) {
	if os.Getenv("VIRTUAL_HANG") != "" {
		synctest.Test(t, func(*testing.T) {
			n := virtual.NewNetwork(nil)
			n.Immediate = nil
			var lock sync.Mutex
			for range 2 {
				go func() {
					lock.Lock()
					defer lock.Unlock()
					<-get(context.Background(), n, "/apis", "a")
				}()
			}
			n.Idle()
		})
	}
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c := exec.CommandContext(limit, os.Args[0], "-test.run", "^"+t.Name()+"$")
	c.Env = append(os.Environ(), "VIRTUAL_HANG=1")
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGQUIT) }
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sync.Mutex.Lock") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Time passes before a stimulus in the same turn; a request that is made meanwhile comes first.
func TestAStimulusComesAfterTheTimeBeforeIt(t *testing.T) {
	var answered []string
	conn := served(t, func(ctx context.Context, _ virtual.Start, n *virtual.Network) error {
		began := time.Now()
		for _, wait := range []time.Duration{0, 5 * time.Second} {
			go func() {
				time.Sleep(wait)
				if _, err := (&http.Client{Transport: n}).Get(fmt.Sprintf("http://virtual/%d", wait/time.Second)); err == nil {
					answered = append(answered, fmt.Sprintf("%d after %v", wait/time.Second, time.Since(began).Truncate(time.Second)))
				}
			}()
		}
		<-ctx.Done()
		return nil
	})
	start := time.Unix(1800000000, 0)
	first := exchange(t, conn, begin(start, 1)).Idle.Requests[0].ID
	answer := func(id int, until time.Duration) *virtual.Idle {
		after := &virtual.After{Until: start.Add(until).UnixNano(), Timers: 3}
		response := &virtual.Response{ID: id, Code: 200, Body: []byte("{}")}
		return exchange(t, conn, virtual.Frame{Turn: &virtual.Turn{After: after, Response: response}}).Idle
	}
	idle := answer(first, 7*time.Second)
	if !idle.Early || len(idle.Requests) != 1 || idle.Now != start.Add(5*time.Second).UnixNano() || len(answered) != 0 {
		t.Fatalf("expected the second request and no answer, got %+v, %v", idle, answered)
	}
	second := idle.Requests[0].ID
	if idle = answer(first, 7*time.Second); idle.Early || idle.Now != start.Add(7*time.Second).UnixNano()+1 {
		t.Fatalf("expected the answer at 7 s, got %+v", idle)
	}
	if idle = answer(second, 7*time.Second); idle.Early || idle.Now != start.Add(7*time.Second).UnixNano()+2 {
		t.Fatalf("expected the other answer at 7 s, got %+v", idle)
	}
	if want := "[0 after 7s 5 after 7s]"; fmt.Sprint(answered) != want {
		t.Errorf("expected %s, got %v", want, answered)
	}
	exchange(t, conn, end)
}
