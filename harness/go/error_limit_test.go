package virtual_test

import (
	"testing"
	"testing/synctest"
	"time"

	"lockstep/virtual"
)

func TestTheErrorLimitForgetsOtherBubbles(t *testing.T) {
	var called int
	handlers := []func(error){func(error) { called++ }, nil}
	for _, year := range []int{2030, 2026} {
		synctest.Test(t, func(t *testing.T) {
			virtual.Epoch(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
			virtual.FreshErrorLimit(handlers)
			start := time.Now()
			for range 3 {
				for _, f := range handlers {
					f(nil)
				}
			}
			if d := time.Since(start).Round(time.Microsecond); d != time.Millisecond {
				t.Errorf("%d: three errors took %v", year, d)
			}
		})
	}
	if called != 6 {
		t.Errorf("the other handler was called %d times", called)
	}
}
