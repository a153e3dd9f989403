package fakeapi

import (
	"slices"
	"strconv"
	"time"

	"lockstep/virtual"
)

// turns is what waits to be delivered.
type turns struct {
	requests []arrived // in the order in which something is to be done
	watches  []watch
	events   []virtual.Turn
	planned  []planned // in order of time
}

type planned struct {
	at time.Time
	do func()
}

// arrived is a request: it takes effect when half of its latency has passed, so that watches have what it causes
// before its caller has the answer. In a cluster either can be first.
type arrived struct {
	virtual.Request
	next   time.Time
	rest   time.Duration
	answer *virtual.Response // once it has taken effect
}

type watch struct {
	id       int
	at       place
	metadata bool
}

// At plans something for an instant: what a user does, a node that fails.
func (s *Server) At(when time.Time, do func()) {
	t := &s.turns
	after := func(p planned, when time.Time) int {
		if p.at.After(when) {
			return 1
		}
		return -1 // what was planned earlier for the same instant comes first
	}
	i, _ := slices.BinarySearchFunc(t.planned, when, after)
	t.planned = slices.Insert(t.planned, i, planned{when, do})
}

// Run takes turns with a controller for an amount of virtual time.
func (s *Server) Run(network *virtual.Network, d time.Duration) {
	until := time.Now().Add(d)
	for {
		turn, ok := s.Turn(network.Idle(), until)
		if !ok {
			return
		}
		network.Play(turn)
	}
}

// RunUntil takes turns until a condition holds, for an amount of virtual time at most, and reports whether it holds.
func (s *Server) RunUntil(network *virtual.Network, d time.Duration, holds func() bool) bool {
	until := time.Now().Add(d)
	for {
		s.take(network.Idle())
		if holds() {
			return true
		}
		turn, ok := s.choose(until)
		if !ok {
			return false
		}
		network.Play(turn)
	}
}

// Turn chooses the next stimulus: an event for a watch, else an answer that is due, else time. It reports false when
// the time is up.
func (s *Server) Turn(idle virtual.Idle, until time.Time) (turn virtual.Turn, ok bool) {
	s.take(idle)
	return s.choose(until)
}

// take notes what has happened, and does what was planned for this instant.
func (s *Server) take(idle virtual.Idle) {
	t := &s.turns
	s.now = time.Unix(0, idle.Now)
	for _, q := range idle.Requests {
		half := s.Latency(q) / 2
		t.requests = append(t.requests, arrived{Request: q, next: s.now.Add(half), rest: half})
	}
	t.order()
	t.requests = slices.DeleteFunc(t.requests, func(q arrived) bool { return slices.Contains(idle.Cancelled, q.ID) })
	t.watches = slices.DeleteFunc(t.watches, func(w watch) bool { return slices.Contains(idle.Closed, w.id) })
	for len(t.planned) > 0 && !s.now.Before(t.planned[0].at) {
		do := t.planned[0].do
		t.planned = t.planned[1:]
		do()
	}
}

func (s *Server) choose(until time.Time) (turn virtual.Turn, ok bool) {
	t := &s.turns
	for {
		if len(t.events) > 0 {
			event := t.events[0]
			t.events = t.events[1:]
			return event, true
		}
		if !s.now.Before(until) || len(t.requests) == 0 || s.now.Before(t.requests[0].next) {
			break
		}
		q := &t.requests[0]
		if q.answer == nil {
			r := s.Handle(q.Request)
			q.answer, q.next = &r, s.now.Add(q.rest)
			if !r.Stream { // a watch is open before its events come
				t.order()
				continue
			}
		}
		answer := q.answer
		t.requests = t.requests[1:]
		return virtual.Turn{Response: answer}, true
	}
	if !s.now.Before(until) {
		return virtual.Turn{}, false
	}
	next := until
	if len(t.requests) > 0 && t.requests[0].next.Before(until) {
		next = t.requests[0].next
	}
	if len(t.planned) > 0 && t.planned[0].at.Before(next) {
		next = t.planned[0].at
	}
	return virtual.Turn{Advance: &virtual.Advance{Until: next.UnixNano()}}, true
}

// BreakWatches ends every watch, as a server does that restarts.
func (s *Server) BreakWatches() {
	for _, w := range s.turns.watches {
		s.turns.events = append(s.turns.events, virtual.Turn{EOF: &virtual.EOF{ID: w.id}})
	}
	s.turns.watches = nil
}

func (t *turns) order() {
	slices.SortStableFunc(t.requests, func(a, b arrived) int { return a.next.Compare(b.next) })
}

func (s *Server) watch(q virtual.Request, at place, metadata, initial bool) virtual.Response {
	w := watch{q.ID, at, metadata}
	s.turns.watches = append(s.turns.watches, w)
	if initial {
		for _, o := range s.List(at.resource.Name) {
			s.turns.send(w, "ADDED", o)
		}
		s.turns.send(w, "BOOKMARK", Object{"apiVersion": at.resource.GroupVersion, "kind": at.resource.Kind, "metadata": Object{
			"resourceVersion": strconv.Itoa(s.version), "annotations": Object{"k8s.io/initial-events-end": "true"}}})
	}
	return virtual.Response{ID: q.ID, Code: 200, Stream: true}
}

func (t *turns) emit(resource, event string, o Object) {
	for _, w := range t.watches {
		if w.at.resource.Name == resource {
			t.send(w, event, o)
		}
	}
}

func (t *turns) send(w watch, event string, o Object) {
	if n := Meta(o)["namespace"]; w.at.namespace != "" && n != nil && n != w.at.namespace {
		return
	}
	data := encoded(Object{"type": event, "object": view(o, w.metadata)})
	t.events = append(t.events, virtual.Turn{Chunk: &virtual.Chunk{ID: w.id, Data: data}})
}
