// Package zerolog is as the one of that name: what begins a message says how it ends.
package zerolog

type Logger struct{}

type Event struct{}

func (l *Logger) Warn() *Event  { return &Event{} }
func (l *Logger) Fatal() *Event { return &Event{} }

func (e *Event) Err(err error) *Event { return e }
func (e *Event) Msg(text string)      {}
