// The file in the fragment of a link, which browsers send to no server.

const prefix = '#file=';
const most = 4 << 20; // bytes, which is the size of the largest policy file

// link returns the fragment with a file.
export async function link(file) {
  const text = new TextEncoder().encode(JSON.stringify([file.name, file.text]));
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return prefix + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

// linked returns the file of a fragment, or null if it has none.
export async function linked(fragment) {
  if (!fragment.startsWith(prefix)) return null;
  const code = fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(code), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    text += decoder.decode(value, {stream: true});
    if (text.length > 2 * most) throw new Error('the file of the link is too large');
  }
  const [name, content] = JSON.parse(text + decoder.decode());
  if (typeof name !== 'string' || typeof content !== 'string') throw new Error('the link has no file');
  return {name, text: content};
}
