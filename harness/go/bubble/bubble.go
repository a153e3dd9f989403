// Package bubble runs a synctest bubble without package testing and knows when the bubble's next timer is due.
//
// Neither is part of Go's API: the package links to internal/synctest and needs the flag -ldflags=-checklinkname=0.
// What it reads of the runtime is found by its reflected layout, not by offsets of one release, and [Check] compares
// it with timers that it made itself.
package bubble

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing/synctest"
	"time"
	"unsafe"
)

//go:linkname run internal/synctest.Run
func run(f func())

//go:linkname acquire internal/synctest.acquire
func acquire() any

//go:linkname release internal/synctest.release
func release(any)

// Run runs a function in a new bubble and returns when every goroutine of the bubble has ended. It panics if
// goroutines remain that nothing can wake.
func Run(f func()) { run(f) }

// offsets of the two words of the runtime's bubble that bound its next timer.
var heap, modified uintptr

// Next returns an instant, in nanoseconds since 1970, before which no timer of the current bubble wakes anything; 0 if
// it has no such timer. One that was stopped or put off may still count, so the instant may be early, never late.
func Next() int64 {
	b := acquire()
	defer release(b)
	at := reflect.ValueOf(b).UnsafePointer()
	// The order of the loads is the runtime's own: it clears the second only after it has lowered the first.
	later := atomic.LoadInt64((*int64)(unsafe.Add(at, modified)))
	next := atomic.LoadInt64((*int64)(unsafe.Add(at, heap)))
	if next == 0 || later != 0 && later < next {
		next = later
	}
	return next
}

// Check finds out whether this Go runtime is one that the package understands. Call it once, before [Next].
func Check() (err error) {
	Run(func() {
		if err = layout(); err == nil {
			err = known()
		}
	})
	if err != nil {
		return fmt.Errorf("%s keeps the timers of a synctest bubble in another way than this program knows: %w; build it with Go 1.25 or 1.26", runtime.Version(), err)
	}
	return nil
}

// layout finds the words by the names of their fields.
func layout() error {
	b := acquire()
	defer release(b)
	t := reflect.TypeOf(b)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("a bubble is a %v", t)
	}
	for name, offset := range map[string]*uintptr{"minWhenHeap": &heap, "minWhenModified": &modified} {
		at, err := field(t.Elem(), "timers", name, "value")
		if err != nil {
			return err
		}
		*offset = at
	}
	return nil
}

func field(t reflect.Type, path ...string) (uintptr, error) {
	var offset uintptr
	for _, name := range path {
		if t.Kind() != reflect.Struct {
			return 0, fmt.Errorf("%v is not a struct", t)
		}
		f, ok := t.FieldByName(name)
		if !ok {
			return 0, fmt.Errorf("%v has no field %s", t, name)
		}
		offset += f.Offset
		t = f.Type
	}
	if t.Kind() != reflect.Int64 {
		return 0, fmt.Errorf("%v is not an int64", t)
	}
	return offset, nil
}

// known compares Next with timers whose times are known. A timer with a channel counts while a goroutine waits for it:
// otherwise it wakes nothing.
func known() error {
	if next := Next(); next != 0 {
		return fmt.Errorf("a bubble without timers is due at %d", next)
	}
	start := time.Now()
	due := func(want time.Duration) error {
		if got := Next(); got != start.Add(want).UnixNano() {
			return fmt.Errorf("a timer due after %v was found after %v", want, time.Duration(got-start.UnixNano()))
		}
		return nil
	}
	go func() { <-time.NewTimer(7 * time.Second).C }()
	go func() { time.Sleep(6 * time.Second) }()
	five := time.AfterFunc(5*time.Second, func() {})
	three := time.AfterFunc(3*time.Second, func() {})
	synctest.Wait()
	err := due(3 * time.Second)
	three.Stop()
	five.Reset(10 * time.Second)
	if got := Next(); got > start.Add(6*time.Second).UnixNano() {
		err = errors.Join(err, errors.New("a timer that was put off hides an earlier one"))
	}
	five.Reset(4 * time.Second)
	if got := Next(); got > start.Add(4*time.Second).UnixNano() { // earlier is right too: the stopped timer may still count
		err = errors.Join(err, errors.New("a timer that was brought forward is not seen"))
	}
	time.Sleep(3 * time.Second) // the runtime has now dropped what was stopped
	err = errors.Join(err, due(4*time.Second))
	time.Sleep(2 * time.Second)
	err = errors.Join(err, due(6*time.Second))
	time.Sleep(1500 * time.Millisecond)
	err = errors.Join(err, due(7*time.Second))
	time.Sleep(time.Second)
	if next := Next(); next != 0 {
		err = errors.Join(err, fmt.Errorf("after the last timer one is due at %d", next))
	}
	return err
}
