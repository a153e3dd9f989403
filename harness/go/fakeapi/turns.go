package fakeapi

import (
	"slices"
	"strconv"
	"time"

	"lockstep/virtual"
)

// turns is what waits to be delivered.
type turns struct {
	requests []arrived // in the order in which they are due
	watches  []watch
	events   []virtual.Turn
	planned  []planned // in order of time
}

type planned struct {
	at time.Time
	do func()
}

type arrived struct {
	virtual.Request
	due time.Time
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
		t.requests = append(t.requests, arrived{q, s.now.Add(s.Latency(q))})
	}
	slices.SortStableFunc(t.requests, func(a, b arrived) int { return a.due.Compare(b.due) })
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
	if len(t.events) > 0 {
		event := t.events[0]
		t.events = t.events[1:]
		return event, true
	}
	if !s.now.Before(until) {
		return virtual.Turn{}, false
	}
	next := until
	if len(t.requests) > 0 {
		q := t.requests[0]
		if !s.now.Before(q.due) {
			t.requests = t.requests[1:]
			r := s.Handle(q.Request)
			return virtual.Turn{Response: &r}, true
		}
		if q.due.Before(until) {
			next = q.due
		}
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
