package main

func Example() {
	main()
	// Output:
	// 1 <nil>
	// 3 <nil>
	// 2 <nil>
	//  <nil>
	// [ ] <nil>
	// <nil> x
	// <nil>
}
