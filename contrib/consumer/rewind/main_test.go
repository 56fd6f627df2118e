package main

func Example() {
	main()
	// Output:
	// 456789 <nil>
	// nothing <nil>
	// head456789 <nil>
	// nothing <nil>
	// nothing <nil>
	// 456789 <nil>
	// 456789def
	//  <nil>
	// 456789 <nil>
	// 456789 <nil>
	// 1 true true
	// 0
}
