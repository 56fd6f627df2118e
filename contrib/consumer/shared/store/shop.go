package store

import "context"

type op = func() (int, error)

func Guarded(ctx context.Context, do op) (int, error)         { return do() }
func Budgeted(ctx context.Context, do op) (int, error)        { return do() }
func Limited(ctx context.Context, do op) (int, error)         { return do() }
func Paced(ctx context.Context, do op) (int, error)           { return do() }
func Step(ctx context.Context, id string, do op) (int, error) { return do() }
