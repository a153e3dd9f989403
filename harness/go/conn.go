package virtual

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// limit is the longest frame that is read: a guard against a peer that speaks another protocol.
const limit = 1 << 30

// Conn carries frames: four bytes of big-endian length, then as many bytes of JSON. It is safe for concurrent use,
// and its waiting is real I/O: a bubble's clock stands still meanwhile.
type Conn struct {
	reading sync.Mutex
	r       *bufio.Reader
	writing sync.Mutex
	w       io.Writer
	out     bytes.Buffer
}

// NewConn carries frames over a stream.
func NewConn(stream io.ReadWriter) *Conn {
	var r io.Reader = stream
	if file, ok := stream.(*os.File); ok {
		r = heldReader(file)
	}
	return &Conn{r: bufio.NewReaderSize(r, 1<<16), w: stream}
}

// Send writes one frame.
func (c *Conn) Send(f Frame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.out.Reset()
	c.out.Write(make([]byte, 4))
	// Not Marshal: it would rewrite <, > and & in the bodies that the frame carries.
	e := json.NewEncoder(&c.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return err
	}
	frame := c.out.Bytes()
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err := c.w.Write(frame)
	return err
}

// Receive reads one frame.
func (c *Conn) Receive() (f Frame, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return f, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > limit {
		return f, fmt.Errorf("frame of %d bytes exceeds the limit of %d: the peer speaks another protocol", n, limit)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return f, fmt.Errorf("frame of %d bytes is cut short: %w", n, err)
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, fmt.Errorf("frame is not of protocol %d: %w", Protocol, err)
	}
	return f, nil
}
