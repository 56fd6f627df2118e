package main

func Example() {
	main()
	// Output:
	//  not yet: no connection
	// 0 <nil>
	// true
	// ab <nil>
	// -1 <nil>
	// true
	// ab <nil>
	// -1 <nil>
	// true
	// <nil>
	// [7] <nil>
	// 1 <nil>
	// <nil>
	// 3 <nil>
	// <nil> 2
}
