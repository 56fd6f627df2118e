package main

func Example() {
	main()
	// Output:
	// status 200 after 3 calls
}
