package main

func Example() {
	main()
	// Output:
	// a <nil>
	// 1 <nil>
	// <nil> []  <nil>
	//  <nil>
	// 1 <nil>
	// 5 <nil>
	// <nil>
	// 1 2 <nil>
}
