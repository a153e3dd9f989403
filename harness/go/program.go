package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"runtime"
	"strings"
	"testing/synctest"
	"time"
)

// Program serves the turn protocol: it runs the controllers of an outside in another process, one bubble a case.
type Program struct {
	Hello Hello
	// Bubble runs a function in a new bubble and returns when all goroutines of the bubble have ended.
	Bubble func(func())
	// Next is the Network's.
	Next func() int64
	// Run runs the controllers of a case until the context is done. All that it makes belongs to the bubble.
	Run func(ctx context.Context, start Start, network *Network) error
}

// errRefused is a case that ended before its outside ended it.
var errRefused = errors.New("the case failed")

// Serve plays cases until the outside closes the connection.
func (p Program) Serve(conn *Conn) error {
	hello := p.Hello
	hello.Protocol, hello.Go, hello.Features = Protocol, runtime.Version(), []string{FeatureAfter}
	if err := conn.Send(Frame{Hello: &hello}); err != nil {
		return err
	}
	garbage := newCollector()
	for {
		before := runtime.NumGoroutine()
		f, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.Start == nil {
			return errors.New("expected a start frame")
		}
		err = p.play(conn, *f.Start, garbage)
		switch {
		case errors.Is(err, errRefused):
			err = conn.Send(Frame{Failed: &Failed{Message: err.Error()}})
		case err == nil:
			err = conn.Send(Frame{Done: &Done{Goroutines: max(0, runtime.NumGoroutine()-before)}})
		}
		if err != nil {
			return err
		}
	}
}

// play plays one case in a bubble of its own.
func (p Program) play(conn *Conn, start Start, garbage *collector) (err error) {
	defer func() {
		// Some controllers never stop all that they start. What is left is parked for good: its clock stands still.
		if r := recover(); r != nil && !strings.Contains(fmt.Sprint(r), "blocked goroutines remain") {
			panic(r)
		}
	}()
	p.Bubble(func() {
		alone := runtime.NumGoroutine()
		Epoch(time.Unix(0, start.Now))
		//lint:ignore SA1019 effective with GODEBUG randseednop=0; client-go draws from this source
		rand.Seed(start.Seed)
		network := NewNetwork(func(q Request) (Answer, error) { return ask(conn, q) })
		network.Next = p.Next
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		severalThreads := oneThread()
		go func() { ended <- p.Run(ctx, start, network) }()
		err = drive(conn, network, garbage, ended)
		severalThreads()
		network.Close()
		cancel()
		// A case leaves its bubble when its goroutines have ended; those that sleep need time for it.
		for pause := time.Second; pause <= 1000*time.Second; pause *= 10 {
			synctest.Wait()
			if runtime.NumGoroutine() <= alone {
				break
			}
			time.Sleep(pause)
		}
	})
	return err
}

// Epoch sets the clock of a new bubble, which begins at 2000-01-01.
func Epoch(now time.Time) {
	time.Sleep(time.Until(now))
}

// drive alternates idle frames and turns until the end of the case.
func drive(conn *Conn, network *Network, garbage *collector, ended <-chan error) error {
	var fired int
	var early bool
	for {
		idle := network.Idle()
		idle.Fired, idle.Early = fired, early
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("the controllers stopped by themselves")
			}
			return fmt.Errorf("%w: %w", errRefused, err)
		default:
		}
		if err := conn.Send(Frame{Idle: &idle}); err != nil {
			return err
		}
		garbage.collect() // the outside thinks meanwhile
		f, err := conn.Receive()
		switch {
		case err != nil:
			return err
		case f.Turn == nil:
			return errors.New("expected a turn frame")
		case f.Turn.End != nil:
			return nil
		}
		if fired, early = network.after(f.Turn.After); !early {
			fired = 0
			network.Play(*f.Turn)
		}
	}
}

func ask(conn *Conn, q Request) (Answer, error) {
	if err := conn.Send(Frame{Ask: &q}); err != nil {
		return Answer{}, err
	}
	f, err := conn.Receive()
	if err != nil {
		return Answer{}, err
	}
	if f.Answer == nil {
		return Answer{}, errors.New("expected an answer frame")
	}
	return *f.Answer, nil
}
