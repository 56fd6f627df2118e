package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/retrygen/retrygen/contrib/recovery"
)

// flowName is the flow of an agent in the folder of a run.
const flowName = "agent"

// A Session is one run of an agent that a later process can continue. It keeps the
// result of each step in the folder of the run, and captures steps whose time runs
// out. The methods of a nil Session keep nothing.
type Session struct {
	Recorder *recovery.Recorder
	Draft    *Draft // the file that the steps write

	mu         sync.Mutex
	transcript bytes.Buffer // of the step that is executed
}

// NewSession returns the session of a run in the folder base. The work of the
// agent is in the git work tree dir.
func NewSession(base, dir, run string) *Session {
	return &Session{
		Recorder: &recovery.Recorder{Base: base, Run: run, Flow: flowName, Dir: dir},
		Draft:    &Draft{path: filepath.Join(dir, "notes.md")},
	}
}

// result returns the file with the result of a step.
func (s *Session) result(step string) string {
	return filepath.Join(s.Recorder.Base, flowName, "results", step)
}

// Resume returns the steps after the last one that has a result, and their input.
func (s *Session) Resume(steps []string, goal string) (left []string, input string, err error) {
	if s == nil {
		return steps, goal, nil
	}
	for i, step := range steps {
		text, err := os.ReadFile(s.result(step))
		if errors.Is(err, fs.ErrNotExist) {
			return steps[i:], goal, nil
		}
		if err != nil {
			return nil, "", err
		}
		goal = string(text)
		s.Recorder.Checkpoint(step)
	}
	return nil, goal, nil
}

// Begin returns the context of a step. If its time runs out, its draft and its
// transcript are captured.
func (s *Session) Begin(ctx context.Context, step string) context.Context {
	if s == nil {
		return ctx
	}
	s.mu.Lock()
	s.transcript.Reset()
	s.mu.Unlock()
	return s.Recorder.Begin(ctx, recovery.Step{
		ID:    step,
		Agent: "writer",
		Flush: func(context.Context) error { return s.Draft.Flush() },
		Artifacts: func(context.Context) ([]recovery.Artifact, error) {
			info, err := os.Stat(s.Draft.path)
			if err != nil {
				return nil, err
			}
			return []recovery.Artifact{{Path: info.Name(), BytesWritten: info.Size()}}, nil
		},
		Transcript: func(_ context.Context, w io.Writer) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			_, err := w.Write(s.transcript.Bytes())
			return err
		},
	})
}

// Log adds an answer of the model to the transcript of the step.
func (s *Session) Log(step, answer string) {
	if s == nil {
		return
	}
	line, err := json.Marshal(map[string]string{"step": step, "answer": answer})
	if err != nil {
		panic(err) // of two strings
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transcript.Write(append(line, '\n'))
}

// Done keeps the result of a step: a run that resumes continues after it.
func (s *Session) Done(step, result string) error {
	if s == nil {
		return nil
	}
	name := s.result(step)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	// A result that is there is whole.
	if err := os.WriteFile(name+".tmp", []byte(result), 0o644); err != nil {
		return err
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		return err
	}
	s.Recorder.Checkpoint(step)
	return nil
}
