// Build the bundle that the program serves: `npm ci && npm run build`.
//
// bundle/widget.js is a classic script. What only some pages need (maths, code colours, languages) is in
// chunks whose names hold a hash of their content. The first line of widget.js holds a hash of the
// sources, which `tests/contract/test_widget_bundle.py` compares.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = import.meta.dirname;
const bundle = join(here, "bundle");
const shared = {
  bundle: true,
  minify: true,
  target: ["chrome105", "firefox115", "safari16.4"],
  legalComments: "none",
  charset: "utf8",
  loader: { ".css": "text" },
  logLevel: "warning",
  absWorkingDir: here,
};

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? sources(path) : [path];
    });
}

// SHA-256 over "path\0content\0" of every source, paths in order of their bytes.
function sourceHash() {
  const files = [...sources(join(here, "src")), ...["build.mjs", "package-lock.json", "site.css"].map((f) => join(here, f))];
  const hash = createHash("sha256");
  const named = files.map((path) => [relative(here, path).replaceAll("\\", "/"), path]);
  for (const [name, path] of named.sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${name}\0`).update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

rmSync(bundle, { recursive: true, force: true });
mkdirSync(bundle);

const texts = readdirSync(join(here, "src/texts")).filter((name) => name.endsWith(".json") && name !== "en.json");
const chunks = await build({
  ...shared,
  entryPoints: [
    "src/chunks/maths.ts",
    "src/chunks/code.ts",
    ...texts.map((name) => ({ in: `src/texts/${name}`, out: `text-${basename(name, ".json")}` })),
  ],
  entryNames: "[name]-[hash]",
  format: "esm",
  outdir: bundle,
  metafile: true,
});
const names = {};
for (const output of Object.keys(chunks.metafile.outputs)) {
  const name = basename(output);
  names[name.slice(0, name.lastIndexOf("-"))] = name;
}

const mark = `/* textbook-rag widget; sources ${sourceHash()} */`;
for (const name of ["widget", "site"]) {
  await build({
    ...shared,
    entryPoints: [`src/${name}.ts${name === "widget" ? "x" : ""}`],
    outfile: join(bundle, `${name}.js`),
    format: "iife",
    banner: { js: mark },
    define: { CHUNKS: JSON.stringify(names) },
    jsx: "automatic",
    jsxImportSource: "preact",
  });
}
copyFileSync(join(here, "site.css"), join(bundle, "site.css"));

for (const name of readdirSync(bundle).sort()) {
  const content = readFileSync(join(bundle, name));
  console.log(`${name} ${content.length} bytes, ${gzipSync(content, { level: 9 }).length} gzipped`);
}
