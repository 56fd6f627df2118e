package time

import "time"

func Wait(d time.Duration) (time.Month, error) { return 1, nil }
