package syntax

import "testing"

// TestWithoutAll: the copy lacks the parts in maps and lists, and the original keeps them.
func TestWithoutAll(t *testing.T) {
	text := "a: {b: &x [1, 2], c: 3}\nd: [{e: *x}, 4, {f: 5}]\n"
	root := File([]byte(text)).Documents()[0].Root
	shared, last := root.Child("a").Child("b"), root.Child("d").Child("2")
	left := root.WithoutAll([]*Node{shared, last})
	for path, want := range map[string]bool{"a b": false, "a c": true, "d 0": true, "d 1": true, "d 2": false} {
		n := left
		for _, step := range []string{path[:1], path[2:]} {
			n = n.Child(step)
		}
		if got := n != nil; got != want {
			t.Errorf("%s is in the copy: got %v, want %v", path, got, want)
		}
	}
	if root.Child("d").Child("2") != last || root.Child("a").Child("b") != shared {
		t.Error("the original has changed")
	}
	if left := root.WithoutAll([]*Node{root}); left != nil {
		t.Errorf("without itself: got %v, want nil", left)
	}
	if left := root.WithoutAll(nil); left != root {
		t.Error("without nothing: got a copy")
	}
}
