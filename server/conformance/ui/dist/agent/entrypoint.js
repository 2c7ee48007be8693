(() => {
const require = globalThis[Symbol.for("LGUI_REQUIRE")];
var __LGUI_agent = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __require = /* @__PURE__ */ ((x) => typeof require < "u" ? require : typeof Proxy < "u" ? new Proxy(x, {
    get: (a, b) => (typeof require < "u" ? require : a)[b]
  }) : x)(function(x) {
    if (typeof require < "u") return require.apply(this, arguments);
    throw Error('Dynamic require of "' + x + '" is not supported');
  });
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: !0 });
  }, __copyProps = (to, from, except, desc) => {
    if (from && typeof from == "object" || typeof from == "function")
      for (let key of __getOwnPropNames(from))
        !__hasOwnProp.call(to, key) && key !== except && __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: !0 }), mod);

  // entrypoint.js
  var entrypoint_exports = {};
  __export(entrypoint_exports, {
    render: () => render
  });

  // ui:index.jsx
  var import_jsx_runtime = __require("react/jsx-runtime");
  function Weather({ city }) {
    return /* @__PURE__ */ (0, import_jsx_runtime.jsxs)("div", { children: [
      "Weather for ",
      city
    ] });
  }
  var index_default = { "weather-component": Weather };

  // entrypoint.js
  function render(name, shadowRootId) {
    let root = document.getElementById(shadowRootId).shadowRoot, target = document.createElement("div");
    root.appendChild(target), globalThis[/* @__PURE__ */ Symbol.for("LGUI_EXT_STORE")].respond(shadowRootId, index_default[name], target);
  }
  return __toCommonJS(entrypoint_exports);
})();
globalThis.__LGUI_agent = __LGUI_agent;
})();
