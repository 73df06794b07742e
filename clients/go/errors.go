package toolbatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// RefusedError is a request that the server refused. Nothing is repeated after it.
type RefusedError struct {
	// Status is the gRPC status.
	Status codes.Code
	// Reason is the ErrorInfo's: stable, UPPER_SNAKE_CASE; empty where the status is not the server's own.
	Reason string
	// Metadata is the ErrorInfo's.
	Metadata map[string]string
	// Message is for people.
	Message string
	// Violations are the fields that break a rule, as many as the server names.
	Violations []Violation
	// RetryDelay is after how long a repeat may succeed; 0 where the server does not say.
	RetryDelay time.Duration

	cause error
}

// Violation is one field of a request that breaks a rule.
type Violation struct {
	// Field is its path, such as "call_list.calls[3].key".
	Field string
	// Description says what arrived and what was expected.
	Description string
}

// StatusName gives the status as gRPC's documents write it, such as "INVALID_ARGUMENT".
func (e *RefusedError) StatusName() string {
	if name, known := code.Code_name[int32(e.Status)]; known {
		return name
	}
	return "UNKNOWN"
}

// Error names the status, the reason, the message and every violation.
func (e *RefusedError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "toolbatch: %s", e.StatusName())
	if e.Reason != "" {
		fmt.Fprintf(&text, " (%s)", e.Reason)
	}
	fmt.Fprintf(&text, ": %s", e.Message)
	for _, violation := range e.Violations {
		if !strings.Contains(e.Message, violation.Description) {
			fmt.Fprintf(&text, "; %s: %s", violation.Field, violation.Description)
		}
	}
	return text.String()
}

// Unwrap gives the error of grpc-go.
func (e *RefusedError) Unwrap() error { return e.cause }

// UnavailableError is a server that could not be reached, or was lost: for longer than the client goes on trying, or at a request that is not
// repeated, which may have taken effect.
type UnavailableError struct {
	// BatchID is the batch that was followed, which may be running; Client.Watch comes back to it. Empty for other requests.
	BatchID string
	// LastSequence is the newest event of it that was given out.
	LastSequence uint64

	waited time.Duration
	cause  error
}

// Error names the batch, the last sequence, and what was met last.
func (e *UnavailableError) Error() string {
	cause := "no answer"
	if e.cause != nil {
		cause = e.cause.Error()
	}
	switch {
	case e.BatchID != "":
		return fmt.Sprintf("toolbatch: gave up after %s without a stream; batch %s may be running; the last sequence seen is %d: %s",
			e.waited, e.BatchID, e.LastSequence, cause)
	case e.waited > 0:
		return fmt.Sprintf("toolbatch: gave up after %s without an answer: %s", e.waited, cause)
	}
	return fmt.Sprintf("toolbatch: the server could not be reached, or was lost; the request may have taken effect: %s", cause)
}

// Unwrap gives what was met last; nil where no answer came.
func (e *UnavailableError) Unwrap() error { return e.cause }

// refusal gives the server's refusal as its type.
func refusal(err error) *RefusedError {
	from := status.Convert(err)
	refused := &RefusedError{Status: from.Code(), Message: from.Message(), RetryDelay: retryDelay(from), cause: err}
	for _, detail := range from.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			refused.Reason, refused.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				refused.Violations = append(refused.Violations, Violation{Field: violation.GetField(), Description: violation.GetDescription()})
			}
		}
	}
	return refused
}

// retryDelay gives the wait that a status names, 0 where it names none.
func retryDelay(from *status.Status) time.Duration {
	for _, detail := range from.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return max(info.GetRetryDelay().AsDuration(), 0)
		}
	}
	return 0
}

// hasRetryInfo tells whether a status says when to come back, be it at once.
func hasRetryInfo(from *status.Status) bool {
	for _, detail := range from.Details() {
		if _, ok := detail.(*errdetails.RetryInfo); ok {
			return true
		}
	}
	return false
}

// isLost tells whether a request may be made again: the server is not there, or the connection was lost.
func isLost(err error) bool {
	from := status.Convert(err)
	switch from.Code() {
	case codes.Unavailable, codes.Canceled:
		return true
	case codes.ResourceExhausted:
		return hasRetryInfo(from) || len(from.Details()) == 0 && isCut(from.Message())
	case codes.Internal, codes.Unknown:
		// The server's own statuses have details.
		return len(from.Details()) == 0 && isCut(from.Message())
	}
	return false
}

// isCut tells whether these are grpc-go's words for a stream that was reset, or ended without a status or within a message.
func isCut(message string) bool {
	return strings.Contains(message, "RST_STREAM") || strings.Contains(message, "without sending trailers") || message == io.ErrUnexpectedEOF.Error()
}

// endOf gives the context's error where the context is what ended a request, ErrClosed where the client's end did, else nil. A server that is
// told of a deadline may be first to notice that it is over.
func (c *Client) endOf(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if _, bounded := ctx.Deadline(); bounded && (status.Code(err) == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded)) {
		return context.DeadlineExceeded
	}
	select {
	case <-c.closed:
		if isLost(err) {
			return ErrClosed
		}
	default:
	}
	return nil
}

// once gives the error of a request that is not repeated.
func (c *Client) once(ctx context.Context, err error) error {
	if ended := c.endOf(ctx, err); ended != nil {
		return fmt.Errorf("toolbatch: the request may have taken effect: %w", ended)
	}
	if isLost(err) && status.Code(err) != codes.ResourceExhausted {
		return &UnavailableError{cause: err}
	}
	return refusal(err)
}
