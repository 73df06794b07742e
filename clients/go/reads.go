package toolbatch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// repeat makes a request that changes nothing, again and again while the server is not there.
func repeat(ctx context.Context, c *Client, request func(context.Context, *patience) error) error {
	patience := c.newPatience()
	for {
		err := request(ctx, patience)
		if err == nil {
			return nil
		}
		if ended := c.endOf(ctx, err); ended != nil {
			return fmt.Errorf("toolbatch: no answer came: %w", ended)
		}
		if !isLost(err) {
			return refusal(err)
		}
		switch waited := patience.pause(ctx, err); {
		case errors.Is(waited, errGaveUp):
			return &UnavailableError{waited: patience.limit, cause: patience.met}
		case waited != nil:
			return fmt.Errorf("toolbatch: no answer came: %w", waited)
		}
	}
}

// read is repeat for a request with one answer.
func read[Response any](ctx context.Context, c *Client, request func(context.Context) (Response, error)) (response Response, err error) {
	err = repeat(ctx, c, func(ctx context.Context, patience *patience) error {
		ctx, _, cancel := patience.bounded(ctx)
		defer cancel()
		answer, err := request(ctx)
		if err == nil {
			response = answer
		}
		return err
	})
	return response, err
}

// pages reads all pages of a list: page asks for one, and gives its entries and the token of the next.
func pages[Entry any](ctx context.Context, c *Client, page func(ctx context.Context, token string) ([]Entry, string, error)) ([]Entry, error) {
	var all []Entry
	for token := ""; ; {
		type answer struct {
			entries []Entry
			next    string
		}
		got, err := read(ctx, c, func(ctx context.Context) (answer, error) {
			entries, next, err := page(ctx, token)
			return answer{entries, next}, err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, got.entries...)
		if token = got.next; token == "" {
			return all, nil
		}
	}
}

// SetVariable keeps a value in a task under a name that references can use: "${NAME}". An empty name is the next free VAR_<n>. The value is
// written as args are: a json.RawMessage or a JSON byte for byte, at most 16 MiB. It gives the name. It is not repeated by itself. Errors:
// *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) SetVariable(ctx context.Context, taskID, name string, value any) (string, error) {
	text, err := jsontext.Encode(value)
	if err != nil {
		return "", fmt.Errorf("toolbatch: SetVariable: value: %w", err)
	}
	response, err := c.tasks.SetVariable(ctx, &toolbatchv1.SetVariableRequest{TaskId: taskID, Name: name, ValueJson: text})
	if err != nil {
		return "", c.once(ctx, err)
	}
	return response.GetName(), nil
}

// Step gives a step's full record. Errors: *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) Step(ctx context.Context, stepID string) (Step, error) {
	response, err := read(ctx, c, func(ctx context.Context) (*toolbatchv1.GetStepResponse, error) {
		return c.tasks.GetStep(ctx, &toolbatchv1.GetStepRequest{StepId: stepID})
	})
	if err != nil {
		return Step{}, err
	}
	return stepOf(response.GetStep()), nil
}

// StepResult reads a step's whole result, up to 64 MiB; after a lost connection it goes on where it was. A step without a result is refused
// with FAILED_PRECONDITION. Errors: *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) StepResult(ctx context.Context, stepID string) (JSON, error) {
	var text []byte
	err := repeat(ctx, c, func(ctx context.Context, patience *patience) error {
		ctx, answered, cancel := patience.bounded(ctx)
		defer cancel()
		stream, err := c.tasks.ReadStepResult(ctx, &toolbatchv1.ReadStepResultRequest{StepId: stepID, Offset: uint64(len(text))})
		if err != nil {
			return err
		}
		if header, err := stream.Header(); err != nil {
			return err
		} else if header != nil {
			answered()
			defer patience.closed()
		}
		for {
			piece, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			patience.progressed()
			text = append(text, piece.GetChunk()...)
		}
	})
	if err != nil {
		return "", err
	}
	return JSON(text), nil
}

// Usage gives what a task used, a row per step and unit, all pages of it. Errors: *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) Usage(ctx context.Context, taskID string) ([]UsageRow, error) {
	rows, err := pages(ctx, c, func(ctx context.Context, token string) ([]*toolbatchv1.UsageRow, string, error) {
		response, err := c.tasks.ListUsage(ctx, &toolbatchv1.ListUsageRequest{TaskId: taskID, PageToken: token})
		return response.GetRows(), response.GetNextPageToken(), err
	})
	return each(rows, usageRowOf), err
}

// Tools gives the tools of the caller's list, all pages of it. Errors: *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	tools, err := pages(ctx, c, func(ctx context.Context, token string) ([]*toolbatchv1.Tool, string, error) {
		response, err := c.tools.ListTools(ctx, &toolbatchv1.ListToolsRequest{PageToken: token})
		return response.GetTools(), response.GetNextPageToken(), err
	})
	return each(tools, toolOf), err
}
