package deafwait

import (
	"context"
	"strconv"
	"time"
)

type site interface {
	Get(ctx context.Context, params map[string]string) (last bool, err error)
}

func nopeStarts(ctx context.Context, s site) error {
	for start := 0; ; start += 100 {
		last, err := s.Get(ctx, map[string]string{"size": "100", "start": strconv.Itoa(start)})
		if err != nil || last {
			return err
		}
		time.Sleep(time.Second)
	}
}

func page(ctx context.Context, s site, start int) error {
	for {
		last, err := s.Get(ctx, map[string]string{"size": "100", "start": strconv.Itoa(start)})
		if err != nil || last {
			return err
		}
		time.Sleep(time.Second) // want `RL102`
	}
}
