// Package playground counts lines and columns from 1, and columns in bytes of UTF-8. The
// editor counts offsets from 0, in units of UTF-16.

// offset returns the offset of a position in a document of the editor, or the nearest one.
export function offset(doc, line, column) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  let bytes = 1;
  let i = 0;
  for (const character of at.text) {
    if (bytes >= column) break;
    bytes += width(character);
    i += character.length;
  }
  return at.from + i;
}

// position returns the line and the column of an offset.
export function position(doc, i) {
  const at = doc.lineAt(i);
  let column = 1;
  for (const character of at.text.slice(0, i - at.from)) column += width(character);
  return {line: at.number, column};
}

// width returns the number of bytes of a character.
function width(character) {
  const code = character.codePointAt(0);
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
