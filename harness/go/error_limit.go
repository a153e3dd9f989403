package virtual

import (
	"reflect"
	"sync"
	"time"
)

// FreshErrorLimit makes new apimachinery's limit of one handled error a millisecond. Call it at the start of each
// bubble, with utilruntime.ErrorHandlers. The limit remembers the time of the last error in a package variable: in a
// bubble whose clock is behind that, or behind real time, the first error would sleep until then. The limit itself
// stays. The handlers' type differs between versions of apimachinery, and this package depends on none.
func FreshErrorLimit(errorHandlers any) {
	handlers := reflect.ValueOf(errorHandlers)
	if handlers.Kind() != reflect.Slice || handlers.Len() < 2 {
		return // a version that limits in another way, or not at all
	}
	var mu sync.Mutex
	var last time.Time
	var tied time.Duration
	limit := func([]reflect.Value) []reflect.Value {
		mu.Lock()
		now := time.Now()
		since := now.Sub(last)
		last = now
		if since > 0 {
			tied = 0
		}
		// Goroutines that report at one instant would wake at one, in random order; on a real clock neither happens.
		tied++
		wait := time.Millisecond - since + tied - 1
		mu.Unlock()
		if since < time.Millisecond {
			time.Sleep(wait)
		}
		return nil
	}
	handlers.Index(1).Set(reflect.MakeFunc(handlers.Type().Elem(), limit))
}
