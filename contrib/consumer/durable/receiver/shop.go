package receiver

import "context"

// A Region is a region of a bank.
type Region string

// An Account is an account that a bank charges.
type Account struct{ ID int }

// A Bank charges orders.
type Bank struct {
	*Account
	region Region
}

func (b *Bank) Charge(ctx context.Context, orderID string) (string, error) {
	return string(b.region) + " " + orderID, nil
}

func (b *Bank) Close(ctx context.Context) (int, error) { return b.ID, nil }
