package main

func Example() {
	main()
	// Output:
	// Fetch 1 true
	// Late 1 true
	// Handle 1 true
	// Param 1 true
	// Server 1 true
	// Box 1 true
	// Both 1 true
}
