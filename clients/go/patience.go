package toolbatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	firstWait = 100 * time.Millisecond
	// longestWait bounds each wait; a RetryInfo may ask for more.
	longestWait = 5 * time.Second
)

// errGaveUp ends tries that went on for as long as they may.
var errGaveUp = errors.New("no stream was open for too long")

// patience is how long to wait before each new try, and how long to go on trying.
type patience struct {
	limit time.Duration
	// since is when a stream was last open, or an event last came.
	since time.Time
	// tries are those without an event.
	tries int
	// met is what the last try met that ended by itself; nil: none did.
	met error
	// end ends every wait.
	end <-chan struct{}
}

func (c *Client) newPatience() *patience {
	return &patience{limit: c.giveUpAfter, since: time.Now(), end: c.closed}
}

// progressed takes note that an event came.
func (p *patience) progressed() { p.since, p.tries, p.met = time.Now(), 0, nil }

// closed takes note that a stream was open until now.
func (p *patience) closed() { p.since = time.Now() }

func (p *patience) remaining() time.Duration { return p.limit - time.Since(p.since) }

// pause waits before the next try, after one that met an error, for as long as that says at least: until then, until the context ends, the
// client is closed, or it is time to give up.
func (p *patience) pause(ctx context.Context, err error) error {
	from := status.Convert(err)
	if from.Code() != codes.Canceled {
		p.met = err
	}
	bound := longestWait
	if p.tries < 6 {
		bound = min(firstWait<<p.tries, longestWait)
	}
	p.tries++
	wait := max(rand.N(bound+1), retryDelay(from))
	remaining := p.remaining()
	timer := time.NewTimer(min(wait, max(remaining, 0)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.end:
		return ErrClosed
	case <-timer.C:
	}
	if wait >= remaining {
		return errGaveUp
	}
	return nil
}

// bounded gives a context for one try, that ends where it does not answer for as long as the patience lasts; answered takes the bound away.
func (p *patience) bounded(ctx context.Context) (try context.Context, answered func(), cancel context.CancelFunc) {
	try, end := context.WithCancel(ctx)
	timer := time.AfterFunc(max(p.remaining(), 0), end)
	return try, func() { timer.Stop() }, func() { timer.Stop(); end() }
}
