package main

import (
	"fmt"
	"reflect"

	"lockstep/virtual"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// forgotten are the package variables of some versions only.
var forgotten []func()

// forget makes new what package variables remember of the last case, at the start of each: they outlive a case, whose
// clock and channels do not.
func forget() {
	for _, f := range forgotten {
		f()
	}
	virtual.FreshErrorLimit(utilruntime.ErrorHandlers)
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
