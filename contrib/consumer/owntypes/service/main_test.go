package main

func Example() {
	main()
	// Output:
	// true <nil>
	// true <nil>
}
