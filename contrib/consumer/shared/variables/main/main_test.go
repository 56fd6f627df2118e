package main

func Example() {
	main()
	// Output:
	// b: <nil>
	// a: false open 2
	// b: true
	// open open
	// true true true
}
