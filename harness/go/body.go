package virtual

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// body is the open body of a watch: a read waits for a chunk, which counts as waiting in the bubble.
type body struct {
	network *Network
	id      int
	mu      sync.Mutex
	more    *sync.Cond
	chunks  bytes.Buffer
	err     error // what a read returns once the chunks are read
	forget  func() bool
}

func newBody(n *Network, id int, ctx context.Context) *body {
	b := &body{network: n, id: id}
	b.more = sync.NewCond(&b.mu)
	b.forget = context.AfterFunc(ctx, func() { b.abandon(context.Cause(ctx)) })
	return b
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.chunks.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.more.Wait()
	}
	return b.chunks.Read(p)
}

// Close implements [io.Closer]: the client wants no more.
func (b *body) Close() error {
	b.abandon(io.ErrClosedPipe)
	return nil
}

func (b *body) append(chunk Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	if chunk.Data != nil {
		b.chunks.Write(chunk.Data)
		b.chunks.WriteByte('\n')
	} else {
		b.chunks.Write(chunk.Bytes)
	}
	b.more.Broadcast()
}

// end is the outside's end of the watch; what was sent before it is still read.
func (b *body) end(err error) {
	b.forget()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.more.Broadcast()
}

// abandon is the client's end of the watch; the outside learns of it unless it has ended the watch itself.
func (b *body) abandon(err error) {
	b.forget()
	b.mu.Lock()
	b.chunks.Reset()
	b.err = err
	b.more.Broadcast()
	b.mu.Unlock()
	n := b.network
	n.mu.Lock()
	_, open := n.bodies[b.id]
	if open {
		delete(n.bodies, b.id)
		n.closed = append(n.closed, b.id)
	}
	n.mu.Unlock()
	if open {
		n.notify()
	}
}
