// node wasm.mjs WASM OBJECT: prints what the verifier in WASM says of the programs of OBJECT.

import { readFileSync } from "node:fs";

const [, , wasm, object] = process.argv;
// The module imports nothing: no clock, no file, no network.
const { instance } = await WebAssembly.instantiate(readFileSync(wasm), {});
const { memory, input, verify, answer } = instance.exports;

const bytes = readFileSync(object);
const place = input(bytes.length);
new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
const length = verify();
// The memory may have grown: the view is made afterwards.
const text = new Uint8Array(memory.buffer, answer(), length);
process.stdout.write(new TextDecoder().decode(text));
