// The two ways to ask package playground. A backend has the function ask(request, options),
// which returns a promise of the answer; it rejects with an Error if there is none. With the
// option slow, other questions are answered meanwhile; signal ends the question. It may have
// the function end(), after which nothing is asked.

// wasm returns a backend that runs in workers of this page. folder is the URL of the folder
// with worker.js, wasm_exec.js and retrygen.wasm.
export function wasm(folder) {
  return new Wasm(new URL(folder, document.baseURI));
}

class Wasm {
  // Milliseconds until the first worker was ready, and that its first answer took.
  times = {instantiated: undefined, first: undefined};
  #folder;
  #fast;

  constructor(folder) {
    this.#folder = folder;
    this.#fast = new Asked(folder, this.times);
  }

  ask(request, {slow = false, signal} = {}) {
    if (!slow) {
      if (this.#fast.failed) this.#fast = new Asked(this.#folder, this.times);
      return this.#fast.ask(request, signal);
    }
    // A worker of its own: to end it is the only way to end a simulation.
    const worker = new Asked(this.#folder, {});
    return worker.ask(request, signal).finally(() => worker.end());
  }

  // end ends the worker. Questions that it has not answered are never answered.
  end() {
    this.#fast.end();
  }
}

// Asked is a worker with the questions that it has not answered yet.
class Asked {
  failed = false;
  #worker;
  #open = new Map(); // resolve and reject of each, by id
  #last = 0;

  constructor(folder, times) {
    this.#worker = new Worker(new URL('worker.js', folder), {type: 'module'});
    this.#worker.onmessage = ({data}) => {
      if (data.instantiated !== undefined) times.instantiated ??= data.instantiated;
      else if (data.failure !== undefined) this.#fail(data.failure);
      else {
        times.first ??= data.took;
        this.#open.get(data.id)?.resolve(data.answer);
        this.#open.delete(data.id);
      }
    };
    this.#worker.onerror = (event) => this.#fail(event.message || 'the worker cannot be loaded');
  }

  #fail(why) {
    this.failed = true;
    this.end();
    for (const {reject} of this.#open.values()) reject(new Error(why));
    this.#open.clear();
  }

  end() {
    this.#worker.terminate();
  }

  async ask(request, signal) {
    const id = ++this.#last;
    const text = await new Promise((resolve, reject) => {
      this.#open.set(id, {resolve, reject});
      signal?.addEventListener('abort', () => reject(signal.reason));
      this.#worker.postMessage({id, request: JSON.stringify(request)});
    });
    return read(JSON.parse(text));
  }
}

// local returns a backend that asks a server: the one of the command retrygen ui.
export function local(url) {
  return {
    async ask(request, {signal} = {}) {
      let response;
      try {
        response = await fetch(url, {
          method: 'POST', body: JSON.stringify(request), headers: {'Content-Type': 'application/json'}, signal,
        });
      } catch (error) {
        if (signal?.aborted) throw error;
        throw new Error('retrygen ui does not answer: start it again', {cause: error});
      }
      if (!response.ok) throw new Error((await response.text()).trim());
      return read(await response.json());
    },
  };
}

// read returns an answer, or throws the error that it has.
function read(answer) {
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}
