package virtual

import (
	"cmp"
	"io"
	"slices"
	"testing/synctest"
	"time"
)

// Idle waits until every other goroutine of the bubble waits, and reports what they wait for. Only one goroutine may
// call it, and no other may use [synctest.Wait] meanwhile.
func (n *Network) Idle() Idle {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.wake:
	default:
	}
	idle := Idle{Now: time.Now().UnixNano(), Cancelled: n.cancelled, Closed: n.closed}
	if n.Next != nil {
		idle.Next = n.Next()
	}
	fresh := n.fresh
	n.fresh, n.cancelled, n.closed = nil, nil, nil
	slices.Sort(idle.Cancelled)
	slices.Sort(idle.Closed)
	// Requests of one instant come in the scheduler's order; sorted, the numbering does not depend on it.
	slices.SortStableFunc(fresh, func(a, b *call) int {
		return cmp.Or(
			cmp.Compare(a.Client, b.Client),
			cmp.Compare(a.Method, b.Method),
			cmp.Compare(a.URI, b.URI),
			cmp.Compare(string(a.Body), string(b.Body)),
			cmp.Compare(string(a.Bytes), string(b.Bytes)),
		)
	})
	for _, c := range fresh {
		if c.ctx.Err() != nil {
			continue // its caller gave up before anybody saw it
		}
		n.id++
		c.ID = n.id
		n.waiting[c.ID] = c
		idle.Requests = append(idle.Requests, c.Request)
	}
	return idle
}

// Play applies one turn, which must be followed by Idle. What names a request or a watch that is gone is ignored:
// its client may have given up while the turn was on its way.
//
// Each answer, failure and event comes one nanosecond after what came before. Go fires the timers of one instant in
// random order; the timers that two stimuli start are for that reason not due at the same one.
func (n *Network) Play(turn Turn) {
	if turn.Advance == nil && turn.End == nil {
		time.Sleep(time.Nanosecond)
	}
	switch {
	case turn.Response != nil:
		n.respond(*turn.Response)
	case turn.Fail != nil:
		n.fail(*turn.Fail)
	case turn.Chunk != nil:
		if b := n.body(turn.Chunk.ID, false); b != nil {
			b.append(*turn.Chunk)
		}
	case turn.EOF != nil:
		if b := n.body(turn.EOF.ID, true); b != nil {
			b.end(io.EOF)
		}
	case turn.Advance != nil:
		n.advance(turn.Advance.Until)
	case turn.End != nil:
		n.Close()
	}
}

func (n *Network) respond(r Response) {
	c := n.take(r.ID)
	if c == nil {
		return
	}
	got := reply{Response: r}
	if r.Stream {
		got.body = newBody(n, r.ID, c.ctx)
		n.mu.Lock()
		n.bodies[r.ID] = got.body
		n.mu.Unlock()
	}
	c.reply <- got
}

func (n *Network) fail(f Fail) {
	if c := n.take(f.ID); c != nil {
		c.reply <- reply{err: transportError(f)}
	} else if b := n.body(f.ID, true); b != nil {
		b.end(transportError(f))
	}
}

func (n *Network) advance(until int64) {
	timer := time.NewTimer(time.Duration(until - time.Now().UnixNano()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.wake:
	}
}

// after lets time pass before a stimulus: how often it let timers fire, and whether the program did something meanwhile.
func (n *Network) after(a *After) (fired int, early bool) {
	if a == nil {
		return 0, false
	}
	for time.Now().UnixNano() < a.Until {
		n.advance(a.Until)
		if synctest.Wait(); n.acted() {
			return 0, true
		}
	}
	for n.Next != nil && fired < a.Timers {
		next := n.Next()
		if next == 0 || next > time.Now().UnixNano()+1 {
			break
		}
		n.advance(next)
		fired++
		if synctest.Wait(); n.acted() {
			return fired, true
		}
	}
	return fired, false
}

// acted reports whether the program did something that Idle would report.
func (n *Network) acted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.fresh)+len(n.cancelled)+len(n.closed) != 0
}

func (n *Network) take(id int) *call {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.waiting[id]
	delete(n.waiting, id)
	return c
}

func (n *Network) body(id int, remove bool) *body {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.bodies[id]
	if remove {
		delete(n.bodies, id)
	}
	return b
}
