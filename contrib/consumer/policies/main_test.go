package main

func Example() {
	main()
	// Output:
	// read 2
	// guarded 1
	// counted 1
	// prices closed
	// stock closed
	// "" false
	// prices closed open failure rate
	// "" false
	// "prices" true
	// prices open closed reset
	// prices closed forced-open forced open
	// guarded: breaker prices was forced open and admits no call until Reset
}
