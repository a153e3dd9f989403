package virtual_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/virtual"
)

// get sends a request in a goroutine of its own; the channel has what became of it.
func get(ctx context.Context, n *virtual.Network, uri, agent string) <-chan string {
	out := make(chan string, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://virtual"+uri, nil)
		if err != nil {
			panic(err)
		}
		r.Header.Set("User-Agent", agent)
		answer, err := (&http.Client{Transport: n}).Do(r)
		if err != nil {
			out <- "error: " + err.Error()
			return
		}
		b, err := io.ReadAll(answer.Body)
		out <- fmt.Sprintf("%s %s %v", answer.Status, b, err)
	}()
	return out
}

func bubble(t *testing.T, f func(n *virtual.Network)) {
	synctest.Test(t, func(*testing.T) {
		n := virtual.NewNetwork(func(q virtual.Request) (virtual.Answer, error) {
			return virtual.Answer{Response: virtual.Response{ID: q.ID, Code: 200, Body: []byte(`"` + q.URI + `"`)}}, nil
		})
		f(n)
		n.Close()
	})
}

func TestRequestsOfOneInstantAreNumberedInOneOrder(t *testing.T) {
	for range 20 {
		bubble(t, func(n *virtual.Network) {
			for _, agent := range []string{"c", "a", "b"} {
				get(context.Background(), n, "/x", agent)
				get(context.Background(), n, "/w", agent)
			}
			var got []string
			for _, q := range n.Idle().Requests {
				got = append(got, fmt.Sprint(q.ID, q.Client, q.URI))
			}
			if want := "1a/w 2a/x 3b/w 4b/x 5c/w 6c/x"; strings.Join(got, " ") != want {
				t.Fatalf("got %v, expected %s", got, want)
			}
		})
	}
}

func TestARequestWaitsForItsAnswerAndTimeStandsStill(t *testing.T) {
	bubble(t, func(n *virtual.Network) {
		out := get(context.Background(), n, "/x", "a")
		before := n.Idle()
		n.Play(virtual.Turn{Response: &virtual.Response{ID: before.Requests[0].ID, Code: 201, Body: []byte(`{}`)}})
		after := n.Idle()
		if got := <-out; got != "201 Created {} <nil>" || after.Now != before.Now+1 {
			t.Errorf("%s after %d ns", got, after.Now-before.Now)
		}
	})
}

func TestTransportErrorsAreThoseOfTheStandardTransport(t *testing.T) {
	for kind, want := range map[string]func(error) bool{
		"":        func(err error) bool { return errors.Is(err, syscall.ECONNRESET) },
		"reset":   func(err error) bool { return errors.Is(err, syscall.ECONNRESET) },
		"refused": func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
		"eof":     func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) },
		"timeout": func(err error) bool {
			var timeout interface{ Timeout() bool }
			return errors.As(err, &timeout) && timeout.Timeout()
		},
	} {
		bubble(t, func(n *virtual.Network) {
			failed := make(chan error, 1)
			go func() {
				_, err := (&http.Client{Transport: n}).Get("http://virtual/x")
				failed <- err
			}()
			id := n.Idle().Requests[0].ID
			n.Play(virtual.Turn{Fail: &virtual.Fail{ID: id, Message: "the case says so", Kind: kind}})
			if err := <-failed; !want(err) || !strings.Contains(err.Error(), "the case says so") {
				t.Errorf("kind %q gave %v", kind, err)
			}
		})
	}
}

func TestAWatchStaysOpenAndEndsInEachWay(t *testing.T) {
	for _, end := range []struct {
		turn func(id int) virtual.Turn
		want string
	}{
		{func(id int) virtual.Turn { return virtual.Turn{EOF: &virtual.EOF{ID: id}} }, "<nil>"},
		{func(id int) virtual.Turn { return virtual.Turn{Fail: &virtual.Fail{ID: id, Kind: "eof"}} }, "unexpected EOF"},
		{func(int) virtual.Turn { return virtual.Turn{End: &virtual.End{}} }, "the case is over"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := virtual.NewNetwork(nil)
			events := make(chan string, 10)
			go func() {
				answer, err := (&http.Client{Transport: n}).Get("http://virtual/watch")
				if err != nil {
					panic(err)
				}
				lines := bufio.NewScanner(answer.Body)
				for lines.Scan() {
					events <- lines.Text()
				}
				events <- fmt.Sprint(lines.Err())
			}()
			id := n.Idle().Requests[0].ID
			n.Play(virtual.Turn{Response: &virtual.Response{ID: id, Code: 200, Stream: true}})
			n.Idle()
			n.Play(virtual.Turn{Chunk: &virtual.Chunk{ID: id, Data: []byte(`{"type":"ADDED"}`)}})
			n.Idle()
			n.Play(end.turn(id))
			idle := n.Idle()
			if first, last := <-events, <-events; first != `{"type":"ADDED"}` || !strings.Contains(last, end.want) {
				t.Errorf("got %q and %q, expected %q", first, last, end.want)
			}
			if len(idle.Closed) != 0 {
				t.Errorf("the outside ended the watch, and hears of its end: %v", idle.Closed)
			}
		})
	}
}

func TestBytesOfAWatchPassAsTheyAre(t *testing.T) {
	bubble(t, func(n *virtual.Network) {
		read := make(chan []byte, 1)
		go func() {
			answer, err := (&http.Client{Transport: n}).Get("http://virtual/watch")
			if err != nil {
				panic(err)
			}
			body, _ := io.ReadAll(answer.Body)
			read <- body
		}()
		id := n.Idle().Requests[0].ID
		n.Play(virtual.Turn{Response: &virtual.Response{ID: id, Code: 200, Stream: true}})
		for _, part := range []string{"\x00\x00\x00\x02", "k8"} {
			n.Idle()
			n.Play(virtual.Turn{Chunk: &virtual.Chunk{ID: id, Bytes: []byte(part)}})
		}
		n.Idle()
		n.Play(virtual.Turn{EOF: &virtual.EOF{ID: id}})
		if got := string(<-read); got != "\x00\x00\x00\x02k8" {
			t.Errorf("got %q", got)
		}
	})
}

func TestWhatTheClientEndsIsReported(t *testing.T) {
	bubble(t, func(n *virtual.Network) {
		watching, stopWatching := context.WithCancel(context.Background())
		asking, stopAsking := context.WithTimeout(context.Background(), 3*time.Second)
		defer stopAsking()
		watch := get(watching, n, "/watch", "a")
		id := n.Idle().Requests[0].ID
		n.Play(virtual.Turn{Response: &virtual.Response{ID: id, Code: 200, Stream: true}})
		n.Idle()
		request := get(asking, n, "/slow", "a")
		slow := n.Idle()
		n.Play(virtual.Turn{Advance: &virtual.Advance{Until: slow.Now + int64(time.Hour)}})
		idle := n.Idle()
		if waited := time.Duration(idle.Now - slow.Now).Round(time.Microsecond); fmt.Sprint(idle.Cancelled) != "[2]" || waited != 3*time.Second {
			t.Errorf("cancelled %v after %v", idle.Cancelled, waited)
		}
		if got := <-request; !strings.Contains(got, context.DeadlineExceeded.Error()) {
			t.Error(got)
		}
		n.Play(virtual.Turn{Response: &virtual.Response{ID: 2, Code: 200}}) // too late: ignored
		stopWatching()
		if idle := n.Idle(); fmt.Sprint(idle.Closed) != "[1]" {
			t.Errorf("closed %v", idle.Closed)
		}
		if got := <-watch; !strings.Contains(got, context.Canceled.Error()) {
			t.Error(got)
		}
	})
}

func TestAnAdvanceEndsAtTheNextRequest(t *testing.T) {
	bubble(t, func(n *virtual.Network) {
		start := n.Idle()
		time.AfterFunc(7*time.Second, func() { get(context.Background(), n, "/x", "a") })
		n.Play(virtual.Turn{Advance: &virtual.Advance{Until: start.Now + int64(time.Hour)}})
		if idle := n.Idle(); idle.Now != start.Now+int64(7*time.Second) || len(idle.Requests) != 1 {
			t.Errorf("%d requests after %v", len(idle.Requests), time.Duration(idle.Now-start.Now))
		}
		now := n.Idle().Now
		n.Play(virtual.Turn{Advance: &virtual.Advance{Until: now + 5}})
		n.Play(virtual.Turn{Advance: &virtual.Advance{Until: now}}) // the past
		if idle := n.Idle(); idle.Now != now+5 {
			t.Errorf("%d ns passed", idle.Now-now)
		}
	})
}

// Whoever waits for a mutex counts as running: without Immediate this test would wait for ever.
func TestARequestUnderALockIsAnsweredAtOnce(t *testing.T) {
	bubble(t, func(n *virtual.Network) {
		var lock sync.Mutex
		var got []string
		for range 3 {
			go func() {
				lock.Lock()
				defer lock.Unlock()
				got = append(got, <-get(context.Background(), n, "/apis/apps/v1", "a"))
			}()
		}
		if idle := n.Idle(); len(idle.Requests) != 0 {
			t.Errorf("reported although answered: %v", idle.Requests)
		}
		if want := `200 OK "/apis/apps/v1" <nil>`; len(got) != 3 || got[2] != want {
			t.Errorf("got %q", got)
		}
	})
}

func TestDiscoveryIsToldFromOtherRequests(t *testing.T) {
	for path, want := range map[string]bool{
		"/api": true, "/api/v1": true, "/apis": true, "/apis/apps": true, "/apis/apps/v1": true, "/openapi/v3": true, "/version": true,
		"/api/v1/pods": false, "/apis/apps/v1/deployments": false, "/healthz": false, "/api/v1/namespaces/default/pods": false,
	} {
		r, _ := http.NewRequest(http.MethodGet, "http://virtual"+path, nil)
		if got := virtual.Discovery(r); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
