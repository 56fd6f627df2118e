// The worker in which the playground runs: typing never waits for an answer. Its messages
// are {id, request}, which it answers with {id, answer, took}; both texts are JSON. The
// first message from it is {instantiated}, or {failure}. Times are in milliseconds.
const base = new URL('.', self.location.href);

async function start() {
  const began = performance.now();
  await import(new URL('wasm_exec.js', base).href);
  const go = new self.Go();
  const {instance} = await instantiate(go.importObject);
  const ended = go.run(instance); // defines retrygenAnswer before it returns
  self.postMessage({instantiated: performance.now() - began});
  ended.then(() => self.postMessage({failure: 'the checker has ended'}));
}

// instantiate also works for servers that do not know the type of WebAssembly.
async function instantiate(imports) {
  const url = new URL('retrygen.wasm', base);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  if (response.headers.get('Content-Type') === 'application/wasm') {
    return WebAssembly.instantiateStreaming(response, imports);
  }
  return WebAssembly.instantiate(await response.arrayBuffer(), imports);
}

const started = start();
started.catch((error) => self.postMessage({failure: String(error)}));

self.onmessage = async ({data: {id, request}}) => {
  try {
    await started;
  } catch {
    return; // it is reported already
  }
  const began = performance.now();
  const answer = self.retrygenAnswer(request);
  self.postMessage({id, answer, took: performance.now() - began});
};
