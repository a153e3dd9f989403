package virtual

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Network takes the place of the network for the clients of one bubble. Every request waits until a turn answers it.
// A Network belongs to the bubble in which it was made.
type Network struct {
	// Immediate selects the requests that Ask answers at once, without waiting for Idle; Discovery by default.
	Immediate func(*http.Request) bool
	// Next returns an instant before which no timer of the bubble fires, 0 if there is none. Without it Idle reports
	// none: only package bubble, which needs a linker flag, knows.
	Next func() int64

	ask       func(Request) (Answer, error)
	asking    sync.Mutex
	mu        sync.Mutex
	id        int
	fresh     []*call       // made since the last Idle, not yet numbered
	waiting   map[int]*call // reported, not yet answered
	bodies    map[int]*body // watches that neither side has ended
	cancelled []int
	closed    []int
	wake      chan struct{} // something to report: ends an advance early
	over      chan struct{} // closed by Close
}

type call struct {
	Request
	ctx   context.Context
	reply chan reply // capacity 1: the turn that answers does not wait for the caller
}

type reply struct {
	Response
	body *body
	err  error
}

// NewNetwork makes a network inside a bubble. ask answers the requests that Immediate selects; it may block on I/O.
func NewNetwork(ask func(Request) (Answer, error)) *Network {
	return &Network{
		Immediate: Discovery,
		ask:       ask,
		waiting:   map[int]*call{},
		bodies:    map[int]*body{},
		wake:      make(chan struct{}, 1),
		over:      make(chan struct{}),
	}
}

// Discovery reports whether a request asks which APIs there are. The deferred REST mapper and the cached discovery
// client hold a mutex while they ask, and whoever waits for a mutex is not durably blocked: the bubble would never
// become idle, and the request would never be reported. Such a request is answered by blocking I/O in the goroutine
// that asks, during which the bubble's clock stands still.
func Discovery(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch p[0] {
	case "api":
		return len(p) <= 2
	case "apis":
		return len(p) <= 3
	case "openapi", "version":
		return true
	}
	return false
}

// RoundTrip implements [http.RoundTripper].
func (n *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := read(r)
	if err != nil {
		return nil, err
	}
	if n.Immediate != nil && n.Immediate(r) {
		return n.immediate(request, r)
	}
	c := &call{Request: request, ctx: r.Context(), reply: make(chan reply, 1)}
	n.mu.Lock()
	n.fresh = append(n.fresh, c)
	n.mu.Unlock()
	n.notify()
	select {
	case got := <-c.reply:
		if got.err != nil {
			return nil, got.err
		}
		return response(got, r), nil
	case <-n.over:
		return nil, errOver
	case <-r.Context().Done():
		n.giveUp(c)
		return nil, context.Cause(r.Context())
	}
}

// Close fails every request in flight or to come and breaks every watch: some callers use a context that is never
// cancelled, so this comes before the controllers are stopped.
func (n *Network) Close() {
	n.mu.Lock()
	bodies := n.bodies
	n.bodies = map[int]*body{}
	n.mu.Unlock()
	close(n.over)
	for _, b := range bodies {
		b.end(errOver)
	}
}

func (n *Network) isOver() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

func (n *Network) notify() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Network) giveUp(c *call) {
	n.mu.Lock()
	if c.ID != 0 {
		delete(n.waiting, c.ID)
		n.cancelled = append(n.cancelled, c.ID)
	} // else Idle drops it: its context is done
	n.mu.Unlock()
	n.notify()
}

func (n *Network) immediate(request Request, r *http.Request) (*http.Response, error) {
	n.asking.Lock()
	defer n.asking.Unlock()
	if n.isOver() {
		return nil, errOver
	}
	n.mu.Lock()
	n.id++
	request.ID = n.id
	n.mu.Unlock()
	letOthersRun()
	answer, err := n.ask(request)
	if err != nil {
		return nil, err
	}
	if answer.Fail != "" {
		return nil, transportError(Fail{Message: answer.Fail})
	}
	return response(reply{Response: answer.Response}, r), nil
}

func read(r *http.Request) (Request, error) {
	q := Request{
		Client:      r.Header.Get("User-Agent"),
		Method:      r.Method,
		URI:         r.URL.RequestURI(),
		ContentType: r.Header.Get("Content-Type"),
		Accept:      r.Header.Get("Accept"),
	}
	if r.Body == nil {
		return q, nil
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return q, fmt.Errorf("read the request's body: %w", err)
	}
	switch {
	case len(b) == 0:
	case json.Valid(b):
		q.Body = b
	default:
		q.Bytes = b
	}
	return q, nil
}

func response(got reply, r *http.Request) *http.Response {
	out := &http.Response{
		StatusCode: got.Code,
		Status:     fmt.Sprintf("%d %s", got.Code, http.StatusText(got.Code)),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{},
		Request: r,
	}
	out.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	out.Header.Set("Content-Type", "application/json")
	if got.ContentType != "" {
		out.Header.Set("Content-Type", got.ContentType)
	}
	for name, value := range got.Headers {
		out.Header.Set(name, value)
	}
	if got.body != nil {
		out.Body, out.ContentLength = got.body, -1
		return out
	}
	b := []byte(got.Body)
	if len(b) == 0 {
		b = got.Bytes
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return out
}
