package main

func Example() {
	main()
	// Output:
	// true true
	// POST 5 "hello" <nil>
	// POST 5 "hello" <nil>
	// POST 5 "hello" <nil>
	// POST 5 "hello"  <nil>
	// POST 0 "" <nil>
	// 1 true the request has a body and no GetBody to read it again
	// true
}
