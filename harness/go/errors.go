package virtual

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// errOver is what a request gets after the end of its case.
var errOver = errors.New("the case is over")

// transportError makes the error that the standard transport would return: clients tell these apart by type, and
// retry some of them.
func transportError(f Fail) error {
	var err error
	op := "read"
	switch f.Kind {
	case "refused":
		op, err = "dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case "eof":
		return described{f.Message, io.ErrUnexpectedEOF}
	case "timeout":
		err = os.ErrDeadlineExceeded
	default:
		err = os.NewSyscallError("read", syscall.ECONNRESET)
	}
	return &net.OpError{Op: op, Net: "tcp", Err: described{f.Message, err}}
}

// described says the outside's words and is the error that it wraps.
type described struct {
	message string
	error
}

// Error implements error.
func (d described) Error() string {
	if d.message == "" {
		return d.error.Error()
	}
	return fmt.Sprintf("%s: %v", d.message, d.error)
}

// Unwrap lets errors.Is and errors.As find the cause.
func (d described) Unwrap() error { return d.error }

// Timeout implements net.Error's half that net.OpError asks for.
func (d described) Timeout() bool { return os.IsTimeout(d.error) }
