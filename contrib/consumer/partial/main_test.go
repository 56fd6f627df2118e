package main

func Example() {
	main()
	// Output:
	// healthy record, polled 3 times
}
