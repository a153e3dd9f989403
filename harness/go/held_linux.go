package virtual

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// held reads a file without telling the Go scheduler that it may have to wait. Told so, the scheduler's monitor wakes
// every 20 µs to give the thread's work to another, and wakes threads for it: an eighth of a program's time. All other
// goroutines wait while a frame is read, so there is no work to give away.
type held struct {
	file *os.File // as long as it is referred to, it stays open
	fd   uintptr
}

// heldReader reads a file in that way.
func heldReader(file *os.File) io.Reader {
	return held{file, file.Fd()}
}

func (h held) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, h.fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return 0, os.NewSyscallError("read", errno)
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil
		}
	}
}
