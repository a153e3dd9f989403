package main

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Package variables of upstream outlive a case, whose clock and channels do not. This file makes new for each case
// what remembers them, and hands on what would end the process.

// freshErrorLimit replaces the limit of one error a millisecond, which remembers the time of the last error: in the
// next case, whose clock is behind it or behind real time, the first error would sleep until then. The limit itself
// stays. Its handler's type is another in each version, hence the reflection.
func freshErrorLimit() {
	var mu sync.Mutex
	var last time.Time
	limit := func([]reflect.Value) []reflect.Value {
		mu.Lock()
		now := time.Now()
		since := now.Sub(last)
		last = now
		mu.Unlock()
		if since < time.Millisecond {
			time.Sleep(time.Millisecond - since)
		}
		return nil
	}
	handlers := reflect.ValueOf(utilruntime.ErrorHandlers)
	handlers.Index(1).Set(reflect.MakeFunc(handlers.Type().Elem(), limit))
}

// reportPanics calls a function when a controller panics; the panic then ends the process, as it does upstream.
func reportPanics(report func(string)) {
	handlers := reflect.ValueOf(&utilruntime.PanicHandlers).Elem()
	handler := reflect.MakeFunc(handlers.Type().Elem(), func(in []reflect.Value) []reflect.Value {
		report(fmt.Sprintf("a controller panicked: %v", in[len(in)-1].Interface()))
		return nil
	})
	handlers.Set(reflect.Append(handlers, handler))
}
