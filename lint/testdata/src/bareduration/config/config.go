// Package config has fields that others set.
package config

import "time"

type Config struct {
	Retry struct {
		Max     int
		Backoff time.Duration
	}
	PollInterval time.Duration
	Timeout      time.Duration // in seconds
	WaitTimeout  time.Duration
}

func New() *Config {
	c := &Config{PollInterval: time.Second, Timeout: 5}
	c.Retry.Backoff = 100 * time.Millisecond
	return c
}

func (c *Config) Wait() { time.Sleep(c.Timeout * time.Second) }
