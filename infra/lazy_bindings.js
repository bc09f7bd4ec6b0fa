// The prebuilt Google bindings require all of their 1,470 files when they are loaded (1.5 s and 400 MB); a stack uses
// some forty. This preload turns each of the index's `exports.x = require("./x")` into a getter, so that a file is
// loaded when it is first used. Bindings whose index reads differently are loaded as they are.
"use strict";
const Module = require("module");

const compile = Module.prototype._compile;
const INDEX = /provider-google[\\/]lib[\\/]index\.js$/;
const EAGER = /^exports\.(\w+) = require\(("\.\/[\w-]+")\);$/gm;
const LAZY = "Object.defineProperty(exports, '$1', { enumerable: true, configurable: true, get: () => require($2) });";

Module.prototype._compile = function (content, filename) {
  return compile.call(this, INDEX.test(filename) ? content.replace(EAGER, LAZY) : content, filename);
};
