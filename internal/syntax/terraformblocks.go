package syntax

// terraformResources returns the resources of a text in the language of Terraform, in the form that they
// have in Terraform JSON: resource, then their types, names and arguments. Blocks that are repeated become a
// list, and a dynamic block becomes the text ${dynamic}. A text that Terraform refuses has none.
func (e *Excerpt) terraformResources() []Document {
	t := terraform{text: e.bytes, lines: e.source()}
	root, ok := t.body(0)
	if !ok || root.Get("resource") == nil {
		return nil
	}
	resources := root.Get("resource")
	doc := Map(*resources)
	doc.Span = resources.At
	return []Document{{Root: doc, text: e}}
}

// body reads arguments and blocks, up to the brace that closes them or to the end of the text.
func (t *terraform) body(depth int) (n *Node, ok bool) {
	n = Map()
	for {
		t.space(true)
		switch {
		case t.at == len(t.text):
			return n, depth == 0
		case depth > 0 && t.skip('}'):
			return n, true
		case depth > maxDepth:
			return nil, false
		}
		from, key := t.at, t.word()
		if !t.skipWord() {
			return nil, false
		}
		path := []Entry{{Key: key, At: t.span(from)}}
		if t.space(false); t.at < len(t.text) && t.text[t.at] == '=' {
			t.at++
			if path[0].Value, ok = t.value(depth); !ok {
				return nil, false
			}
			n.put([]string{key}, path[0])
			continue
		}
		if path, ok = t.labels(path); !ok {
			return nil, false
		}
		last := &path[len(path)-1]
		if last.Value, ok = t.body(depth + 1); !ok {
			return nil, false
		}
		if key == "dynamic" && len(path) == 2 { // written as often as for_each says
			path, last.Value = path[1:], Text("${dynamic}")
		}
		last.Value.Span = last.At
		n.putBlock(path)
	}
}

// labels adds the labels of a block to its path, and reads the brace that opens the block.
func (t *terraform) labels(path []Entry) ([]Entry, bool) {
	for t.space(false); t.at < len(t.text); t.space(false) {
		from, label := t.at, t.word()
		switch c := t.text[t.at]; {
		case c == '{':
			t.at++
			return path, true
		case c == '"':
			var ok bool
			if label, ok = t.quoted(); !ok {
				return nil, false
			}
		case !t.skipWord():
			return nil, false
		}
		path = append(path, Entry{Key: label, At: t.span(from)})
	}
	return nil, false
}

// putBlock adds a block to a map, at the end of a path. Blocks at the same path become a list.
func (n *Node) putBlock(path []Entry) {
	for ; len(path) > 1; path = path[1:] {
		outer := path[0]
		if n.Get(outer.Key) == nil {
			n.add(Entry{Key: outer.Key, At: outer.At, Value: &Node{Span: outer.At, Value: map[string]any{}}})
		}
		if n = n.Get(outer.Key).Value; !n.IsMap() {
			return
		}
	}
	block := path[0]
	switch written := n.Get(block.Key); {
	case written == nil:
		n.add(block)
	case written.Value.IsList():
		written.Value.Items = append(written.Value.Items, block.Value)
	default:
		list := List(written.Value, block.Value)
		list.Span = written.At
		written.Value = list
	}
}
