package main

func Example() {
	main()
	// Output:
	// 012340123456789 <nil>
}
