package other

import "errors"

type hidden struct{}

func (hidden) Fetch(id int) (int, error) { return 0, errors.New("no connection") }
func (*hidden) Do() error                { return nil }
func (hidden) Len() int                  { return 0 }

type Client struct{ hidden }
