package main

func Example() {
	main()
	// Output:
	// 1 <nil>
	// <nil> 0
	// 1 two <nil>
	// boxed <nil>
	// 2 <nil>
	// 0 fast: attempts exhausted after 3 attempts and 3ms of waiting: refused
	// deadline true [1]
	// <nil>
	// <nil> 0
	// 8 <nil>
	// 5 <nil>
}
