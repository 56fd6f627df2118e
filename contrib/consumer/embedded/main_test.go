package main

func Example() {
	main()
	// Output:
	// true <nil> <nil>
	// 7 <nil>
	// 1 map[1:one] <nil>
	// <nil> <nil>
}
